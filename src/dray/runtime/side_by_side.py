"""Doing the same to many things, a bounded number at once."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


async def side_by_side(work: Callable[[T], Awaitable[U]], things: Iterable[T], at_once: int) -> list[U]:
    """Return the results in order. The first failure is raised, once nothing is under way any more."""
    limit = asyncio.Semaphore(at_once)

    async def done(thing: T) -> U:
        async with limit:
            return await work(thing)

    calls = [asyncio.ensure_future(done(thing)) for thing in things]
    try:
        return await asyncio.gather(*calls)
    finally:
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
