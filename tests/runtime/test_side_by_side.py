"""Doing the same to many things: in order, bounded, and nothing goes on behind the caller's back."""

import asyncio

import pytest

from dray.runtime import side_by_side


async def test_results_are_in_order_and_so_many_run_at_once() -> None:
    running, most = 0, 0

    async def work(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(10 - number):
            await asyncio.sleep(0)
        running -= 1
        return number * number

    assert await side_by_side(work, range(10), 3) == [number * number for number in range(10)]
    assert most == 3
    assert await side_by_side(work, [], 3) == []


async def test_after_a_failure_nothing_is_begun_and_nothing_is_under_way() -> None:
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
        await side_by_side(work, range(1_000), 4)
    assert sorted(begun) == [0, *ended]
    assert len(begun) <= 5, "the place of the first may have been taken before its failure was seen"
