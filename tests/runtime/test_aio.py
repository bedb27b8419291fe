"""Concurrent calls, bounded ones and hedged ones: their results, and no call outlives the caller."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from dray.runtime import gather_bounded, hedged
from dray.testing.virtual_loop import run, virtual_loop


async def test_results_are_in_order_and_concurrency_is_bounded() -> None:
    running, most = 0, 0

    async def work(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(10 - number):
            await asyncio.sleep(0)
        running -= 1
        return number * number

    assert await gather_bounded(work, range(10), 3) == [number * number for number in range(10)]
    assert most == 3
    assert await gather_bounded(work, [], 3) == []


async def test_failure_cancels_running_calls_and_starts_no_more() -> None:
    begun: list[int] = []
    ended: list[int] = []

    async def work(number: int) -> None:
        begun.append(number)
        if number == 0:
            raise ValueError("the first")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(number)

    with pytest.raises(ValueError, match="the first"):
        await gather_bounded(work, range(1_000), 4)
    assert sorted(begun) == [0, *ended]
    assert len(begun) <= 5, "another call may start before the failure of the first one is seen"


class Refused(Exception):
    """An attempt that failed."""


async def _ends_never() -> str:
    await asyncio.Event().wait()
    return "never"


async def _raises() -> str:
    raise Refused


def _scripted(*outcomes: Callable[[], Awaitable[str]]) -> tuple[Callable[[], Awaitable[str]], list[float]]:
    """Return attempts with these outcomes, and the times at which they begin."""
    left, times = list(outcomes), []

    def attempt() -> Awaitable[str]:
        times.append(virtual_loop().time())
        return left.pop(0)()

    return attempt, times


async def _after(seconds: float, text: str) -> str:
    await asyncio.sleep(seconds)
    return text


def test_only_a_silent_attempt_is_hedged() -> None:
    async def body() -> None:
        attempt, times = _scripted(lambda: _after(0.2, "first"))
        assert await hedged(attempt, 0.3, on=(Refused,)) == "first"
        assert len(times) == 1

    run(body())


def test_first_answer_counts_whichever_attempt_it_is_of() -> None:
    async def body() -> None:
        attempt, times = _scripted(lambda: _after(0.8, "first"), _ends_never, lambda: _after(0.5, "third"))
        assert await hedged(attempt, 0.3, on=(Refused,)) == "first"
        assert times == pytest.approx([0, 0.3, 0.6])
        attempt, times = _scripted(_ends_never, lambda: _after(0.1, "second"))
        assert await hedged(attempt, 0.3, on=(Refused,)) == "second"

    run(body())


def test_failed_attempt_counts_only_if_no_other_is_running() -> None:
    async def body() -> None:
        attempt, times = _scripted(lambda: _after(0.5, "first"), _raises, _ends_never)
        assert await hedged(attempt, 0.3, on=(Refused,)) == "first"
        assert times == pytest.approx([0, 0.3])
        attempt, times = _scripted(_raises)
        with pytest.raises(Refused):
            await hedged(attempt, 0.3, on=(Refused,))
        attempt, times = _scripted(_ends_never, _raises)
        with pytest.raises(Refused):
            await hedged(attempt, 0.3, on=())

    run(body())


def test_no_attempt_outlives_the_call() -> None:
    async def body() -> None:
        attempt, _ = _scripted(_ends_never, lambda: _after(0, "second"))
        assert await hedged(attempt, 0.3, on=(Refused,)) == "second"
        assert asyncio.all_tasks() == {asyncio.current_task()}
        attempt, _ = _scripted(_ends_never, _ends_never)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.4):
                await hedged(attempt, 0.3, on=(Refused,))
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(body())
