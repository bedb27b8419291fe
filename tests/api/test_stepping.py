"""Stepping a coroutine: its time is added up, and it sees the same outcomes, cancellations and errors."""

import asyncio

import pytest

from dray.api.stepping import Stepped
from tests.cluster.stores import FixedClock


class Stopwatch(FixedClock):
    """A clock that work advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


async def test_only_the_steps_count() -> None:
    clock, released = Stopwatch(), asyncio.Event()

    async def work() -> str:
        clock.now += 1
        await released.wait()
        clock.now += 2
        await asyncio.sleep(0)
        clock.now += 4
        return "done"

    stepped = Stepped(work(), clock)

    async def run() -> str:
        return await stepped

    task = asyncio.create_task(run())
    await asyncio.sleep(0)
    assert stepped.seconds == 1
    clock.now += 100
    released.set()
    assert await task == "done"
    assert stepped.seconds == 7


async def test_errors_are_passed_on_in_both_directions() -> None:
    clock = Stopwatch()
    failing: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def work() -> None:
        try:
            await failing
        except ValueError as error:
            clock.now += 5
            raise KeyError("of the coroutine") from error

    async def fail() -> None:
        failing.set_exception(ValueError("of what it waits for"))

    other = asyncio.create_task(fail())
    stepped = Stepped(work(), clock)
    with pytest.raises(KeyError, match="of the coroutine"):
        await stepped
    await other
    assert stepped.seconds == 5


async def test_cancellation_reaches_the_coroutine_and_timeouts_work() -> None:
    cleaned_up, timed_out = [], asyncio.Event()

    async def work() -> None:
        try:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        except TimeoutError:
            cleaned_up.append("timeout")
            timed_out.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned_up.append("cancelled")

    async def run() -> None:
        await Stepped(work(), Stopwatch())

    task = asyncio.create_task(run())
    await timed_out.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned_up == ["timeout", "cancelled"]


async def test_awaitable_that_is_not_a_coroutine_is_awaited() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    future.set_result(3)
    assert await Stepped(future, Stopwatch()) == 3
