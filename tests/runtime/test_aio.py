"""Bounded concurrent calls: results in order, and no call outlives the caller."""

import asyncio

import pytest

from dray.runtime import gather_bounded


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
