"""Doing the same to many things, a bounded number at once."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


async def side_by_side(work: Callable[[T], Awaitable[U]], things: Iterable[T], at_once: int) -> list[U]:
    """Return the results in order; the first failure is raised."""
    limit = asyncio.Semaphore(at_once)

    async def done(thing: T) -> U:
        async with limit:
            return await work(thing)

    return await asyncio.gather(*map(done, things))
