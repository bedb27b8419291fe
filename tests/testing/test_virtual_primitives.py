"""Primitives of asyncio, which keep their guarantees on the virtual loop under any seed."""

import asyncio
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.testing.virtual_loop import run, virtual_loop

seeds = st.integers(0, 2**32)
delays = st.sampled_from((0.0, 0.001, 0.5, 1.0, 2.0))


@given(seed=seeds, producers=st.lists(st.lists(delays, max_size=8), max_size=5), size=st.integers(0, 3))
def test_queue_gives_each_item_once_and_in_order(seed: int, producers: list[list[float]], size: int) -> None:
    async def produce(queue: asyncio.Queue[tuple[int, int] | None], number: int, pauses: list[float]) -> None:
        for index, pause in enumerate(pauses):
            await asyncio.sleep(pause)
            await queue.put((number, index))

    async def main() -> dict[int, list[int]]:
        queue: asyncio.Queue[tuple[int, int] | None] = asyncio.Queue(size)
        got: dict[int, list[int]] = defaultdict(list)

        async def consume() -> None:
            while (item := await queue.get()) is not None:
                got[item[0]].append(item[1])

        async with asyncio.TaskGroup() as group:
            group.create_task(consume())
            await asyncio.gather(*(produce(queue, n, pauses) for n, pauses in enumerate(producers)))
            await queue.put(None)
        return dict(got)

    expected = {n: list(range(len(pauses))) for n, pauses in enumerate(producers) if pauses}
    assert run(main(), seed=seed) == expected


@given(seed=seeds, limit=st.integers(1, 4), holders=st.lists(delays.filter(bool), max_size=10))
def test_semaphore_enforces_its_limit_without_starvation(seed: int, limit: int, holders: list[float]) -> None:
    async def main() -> tuple[int, int]:
        semaphore, inside, most = asyncio.Semaphore(limit), 0, 0

        async def hold(pause: float) -> None:
            nonlocal inside, most
            async with semaphore:
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(pause)
                inside -= 1

        await asyncio.gather(*(hold(pause) for pause in holders))
        return most, inside

    assert run(main(), seed=seed) == (min(limit, len(holders)), 0)


@given(seed=seeds, work=delays, allowed=delays)
def test_timeout_expires_exactly_when_due(seed: int, work: float, allowed: float) -> None:
    async def main() -> tuple[bool, float]:
        try:
            async with asyncio.timeout(allowed):
                await asyncio.sleep(work)
        except TimeoutError:
            return True, virtual_loop().time()
        return False, virtual_loop().time()

    late, at = run(main(), seed=seed)
    assert at == min(work, allowed)
    if work != allowed:
        assert late is (work > allowed)


@given(seed=seeds, pauses=st.lists(delays, min_size=1, max_size=10))
def test_gather_keeps_the_order_of_its_arguments_and_takes_the_longest(
    seed: int, pauses: list[float]
) -> None:
    async def main() -> tuple[list[int], float]:
        results = await asyncio.gather(*(asyncio.sleep(pause, n) for n, pause in enumerate(pauses)))
        return results, virtual_loop().time()

    assert run(main(), seed=seed) == (list(range(len(pauses))), max(pauses))


@given(seed=seeds, waiters=st.integers(1, 8), at=delays)
def test_event_and_condition_wake_all_waiters(seed: int, waiters: int, at: float) -> None:
    async def main() -> list[float]:
        event, condition, woken = asyncio.Event(), asyncio.Condition(), list[float]()

        async def wait() -> None:
            await event.wait()
            async with condition:
                await condition.wait_for(lambda: virtual_loop().time() >= at + 1)
            woken.append(virtual_loop().time())

        async with asyncio.TaskGroup() as group:
            for _ in range(waiters):
                group.create_task(wait())
            await asyncio.sleep(at)
            event.set()
            await asyncio.sleep(1)
            async with condition:
                condition.notify_all()
        return woken

    assert run(main(), seed=seed) == [at + 1] * waiters


@given(seed=seeds, pauses=st.lists(delays, min_size=1, max_size=6), culprit=st.integers(0, 5))
def test_task_group_cancels_the_others(seed: int, pauses: list[float], culprit: int) -> None:
    failing_at = 1.5

    async def main() -> tuple[list[int], float]:
        finished: list[int] = []

        async def child(number: int, pause: float) -> None:
            await asyncio.sleep(pause)
            finished.append(number)

        async def fails() -> None:
            await asyncio.sleep(failing_at)
            raise ValueError(culprit)

        async def parent() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(fails())
                for number, pause in enumerate(pauses):
                    group.create_task(child(number, pause))

        with pytest.raises(ExceptionGroup) as caught:
            await parent()
        assert [error.args for error in caught.value.exceptions] == [(culprit,)]
        return sorted(finished), virtual_loop().time()

    in_time = [number for number, pause in enumerate(pauses) if pause < failing_at]
    assert run(main(), seed=seed) == (in_time, failing_at)
