"""Virtual loop: scheduling order, time, limits, deadlocks and disposal."""

import asyncio
import gc
import time
import warnings
from collections.abc import AsyncIterator, Iterator

import pytest

from dray.testing.virtual_loop import Deadlock, LimitReached, VirtualLoop, run, virtual_loop


async def _worker(name: str, trace: list[tuple[float, str]]) -> None:
    for step in range(20):
        await asyncio.sleep(0 if step % 3 else 0.5)
        trace.append((virtual_loop().time(), name))


async def _interleaving() -> list[tuple[float, str]]:
    trace: list[tuple[float, str]] = []
    async with asyncio.TaskGroup() as group:
        for name in "abcdef":
            group.create_task(_worker(name, trace))
    return trace


def test_same_seed_gives_the_same_order() -> None:
    first = run(_interleaving(), seed=11)
    clutter = [object() for _ in range(1000)]
    assert run(_interleaving(), seed=11) == first
    assert len(first) == 120
    assert len(clutter) == 1000


def test_different_seeds_give_different_orders() -> None:
    assert len({tuple(run(_interleaving(), seed=seed)) for seed in range(8)}) == 8


def test_order_without_shuffle_is_that_of_asyncio() -> None:
    async def main() -> list[str]:
        trace: list[tuple[float, str]] = []
        await asyncio.gather(*(_worker(name, trace) for name in "abc"))
        return [name for _, name in trace]

    assert run(main(), shuffle=False) == ["a", "b", "c"] * 20


def test_task_group_cancels_in_a_reproducible_order() -> None:
    """Task groups keep sets of tasks; hashes by address would cancel them in another order in each run."""

    async def child(number: int, ended: list[int]) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(number)

    async def main() -> list[int]:
        ended: list[int] = []
        try:
            async with asyncio.timeout(1), asyncio.TaskGroup() as group:
                for number in range(50):
                    group.create_task(child(number, ended))
        except TimeoutError:
            return ended
        raise AssertionError("nothing was cancelled")

    first = run(main(), shuffle=False)
    assert sorted(first) == list(range(50))
    for _ in range(3):
        assert run(main(), shuffle=False) == first


@pytest.mark.parametrize("seed", range(20))
def test_callbacks_run_in_the_order_of_their_registration(seed: int) -> None:
    async def main() -> list[str]:
        loop, ran = virtual_loop(), list[str]()
        done = loop.create_future()

        async def waiter() -> None:
            await done
            ran.append("waiter")

        done.add_done_callback(lambda _: ran.append("first"))
        done.add_done_callback(lambda _: ran.append("second"))
        task = loop.create_task(waiter())
        await asyncio.sleep(1)
        done.set_result(None)
        await task
        return ran

    assert run(main(), seed=seed) == ["first", "second", "waiter"]


def test_time_advances_to_the_next_timer() -> None:
    async def main() -> list[float]:
        loop, seen = virtual_loop(), list[float]()
        for delay in (3600.0, 0.25, 60.0):
            loop.call_later(delay, lambda: seen.append(loop.time()))
        loop.call_later(1.0, seen.append, -1.0).cancel()
        await asyncio.sleep(7200)
        return [*seen, loop.time()]

    began = time.monotonic()
    assert run(main()) == [0.25, 60.0, 3600.0, 7200.0]
    assert time.monotonic() - began < 60


def test_simultaneous_timers_fire_in_the_order_they_were_set() -> None:
    async def main() -> list[int]:
        fired: list[int] = []
        for number in range(100):
            virtual_loop().call_at(5.0, fired.append, number)
        await asyncio.sleep(5.0)
        return fired

    assert run(main()) == list(range(100))


def test_cancelled_timers_are_removed() -> None:
    async def main() -> int:
        loop = virtual_loop()
        for _ in range(10_000):
            loop.call_later(1.0, print).cancel()
        return len(loop._timers)

    assert run(main()) < 300


def test_steps_take_the_time_of_step_seconds() -> None:
    async def main() -> float:
        async with asyncio.timeout(0.01):
            for _ in range(10_000):
                await asyncio.sleep(0)
        raise AssertionError("never cancelled")

    with pytest.raises(TimeoutError):
        run(main(), step_seconds=0.001, time_limit=0.02)
    with pytest.raises(LimitReached, match="over 1000 steps"):
        run(main(), step_limit=1000)


def test_deadlock_names_waiting_tasks_and_their_await_chains() -> None:
    async def takes_both(first: asyncio.Lock, second: asyncio.Lock) -> None:
        async with first:
            await asyncio.sleep(1)
            async with second:
                pass

    async def main() -> None:
        one, two = asyncio.Lock(), asyncio.Lock()
        async with asyncio.TaskGroup() as group:
            group.create_task(takes_both(one, two), name="forwards")
            group.create_task(takes_both(two, one), name="backwards")

    with pytest.raises(Deadlock) as caught:
        run(main(), seed=5)
    report = str(caught.value)
    assert "at 1.000000 virtual seconds" in report
    assert "forwards of the world" in report
    assert "backwards of the world" in report
    assert "in test_deadlock_names_waiting_tasks_and_their_await_chains.<locals>.takes_both" in report
    assert "locks.py" in report
    assert "simulation with seed 5" in caught.value.__notes__[0]


def test_time_limit_is_enforced() -> None:
    async def main() -> None:
        for _ in range(1000):
            await asyncio.sleep(10)

    with pytest.raises(LimitReached, match="over 100 virtual seconds"):
        run(main(), time_limit=100)


def test_unhandled_errors_are_raised() -> None:
    async def fails() -> None:
        raise ValueError("lost")

    async def fails_in_a_cycle() -> None:
        future = virtual_loop().create_future()
        error = ValueError("in a cycle")
        error.__cause__ = RuntimeError(future)
        future.set_exception(error)

    async def main() -> str:
        loop = virtual_loop()
        task = loop.create_task(fails())
        loop.call_soon(int, "no number")
        await fails_in_a_cycle()
        await asyncio.sleep(1)
        return task.get_name()

    with pytest.raises(ExceptionGroup, match="unhandled errors") as caught:
        run(main())
    assert {str(error) for error in caught.value.exceptions} == {
        "lost",
        "in a cycle",
        "invalid literal for int() with base 10: 'no number'",
    }


def test_run_returns_the_result_or_raises_the_error_of_main() -> None:
    async def answers(answer: int) -> int:
        await asyncio.sleep(1)
        return 10 // answer

    assert run(answers(5)) == 2
    with pytest.raises(ZeroDivisionError):
        run(answers(0))


def test_unfinished_tasks_are_closed_silently(caplog: pytest.LogCaptureFixture) -> None:
    ran: list[str] = []

    def fails_when_closed() -> Iterator[None]:
        try:
            yield
        finally:
            ran.append("plain generator")
            raise ValueError

    async def numbers() -> AsyncIterator[int]:
        try:
            while True:
                yield await asyncio.sleep(1, 1)
        finally:
            ran.append("generator")

    async def stubborn() -> None:
        unused, half_used = asyncio.sleep(1), fails_when_closed()
        next(half_used)
        try:
            async for _ in numbers():
                pass
        finally:
            ran.append("finally")
            try:
                virtual_loop().create_task(unused)
            finally:
                await asyncio.sleep(1)

    async def main() -> None:
        loop = virtual_loop()
        for _ in range(3):
            loop.create_task(stubborn())
        await asyncio.sleep(2.5)
        loop.create_task(stubborn())

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        run(main())
        gc.collect()
    assert (ran.count("finally"), ran.count("plain generator")) == (3, 3)
    assert not warned
    assert not caplog.records


def test_threads_and_other_loops_are_refused() -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError, match="no threads"):
            await asyncio.to_thread(print)
        loop = virtual_loop()
        loop._thread += 1
        with pytest.raises(RuntimeError, match="one thread"):
            loop.call_soon_threadsafe(print)

    run(main())

    async def elsewhere() -> None:
        with pytest.raises(TypeError, match="expected a simulation"):
            virtual_loop()

    asyncio.run(elsewhere())


def test_garbage_collector_is_enabled_again() -> None:
    async def main() -> bool:
        return gc.isenabled()

    assert gc.isenabled()
    assert run(main()) is False
    assert gc.isenabled()


def test_finished_tasks_are_not_kept() -> None:
    async def main() -> int:
        for _ in range(5000):
            await virtual_loop().create_task(asyncio.sleep(0))
        return len(virtual_loop()._tasks)

    assert run(main()) <= 1026


def test_garbage_is_collected_at_fixed_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dray.testing.virtual_loop._STEPS_BETWEEN_CHECKS", 1000)
    collected_at: list[int] = []

    class Cycle:
        def __init__(self) -> None:
            self.itself, self.loop = self, virtual_loop()

        def __del__(self) -> None:
            collected_at.append(self.loop.steps)

    async def main() -> list[int]:
        for _ in range(2500):
            Cycle()
            await asyncio.sleep(0)
        return sorted(set(collected_at))

    assert run(main()) == [1000, 2000]


def test_closed_loop_refuses_callbacks() -> None:
    loop = VirtualLoop()
    loop.close()
    loop.close()
    for refused in (loop.call_soon, loop.call_soon_threadsafe):
        with pytest.raises(RuntimeError, match="over"):
            refused(print)
    with pytest.raises(RuntimeError, match="over"):
        loop.call_later(1, print)


def test_loop_is_fast_enough() -> None:
    """A guard against regressions of the hot path, far below its speed of 300,000 steps per second."""

    async def spins() -> None:
        for _ in range(2000):
            await asyncio.sleep(0)

    async def main() -> int:
        await asyncio.gather(*(spins() for _ in range(10)))
        return virtual_loop().steps

    began = time.process_time()
    steps = run(main())
    assert steps >= 20_000
    assert steps / (time.process_time() - began) > 30_000
