"""Keyed timers in virtual time, compared with a simple model."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.runtime import Tasks, Timers
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop

Fired = list[tuple[float, str]]


class _Bench:
    def __init__(self) -> None:
        self.failures: list[str] = []
        self.tasks = Tasks(lambda name, failure: self.failures.append(f"{name}: {failure}"))
        self.timers: Timers[str] = Timers(VirtualClock(virtual_loop()), self.tasks, name="test")
        self.fired: Fired = []

    def notes(self, what: str) -> Callable[[], Awaitable[None]]:
        async def action() -> None:
            self.fired.append((virtual_loop().time(), what))

        return action


def test_timers_fire_once_and_on_time() -> None:
    async def main() -> Fired:
        bench = _Bench()
        for key, after in (("c", 3.0), ("a", 1.0), ("b", 2.0), ("now", 0.0)):
            bench.timers.set(key, after, bench.notes(key))
        bench.timers.set_at("d", 2.5, bench.notes("d"))
        await asyncio.sleep(10)
        assert len(bench.timers) == 0
        assert len(bench.tasks) == 0, "no task sleeps when no timer is set"
        bench.timers.set("again", 1.0, bench.notes("again"))
        await asyncio.sleep(5)
        return bench.fired

    assert run(main()) == [(0.0, "now"), (1.0, "a"), (2.0, "b"), (2.5, "d"), (3.0, "c"), (11.0, "again")]


def test_setting_a_key_again_replaces_time_and_action() -> None:
    async def main() -> Fired:
        bench = _Bench()
        bench.timers.set("later", 1.0, bench.notes("old"))
        bench.timers.set("later", 4.0, bench.notes("later"))
        bench.timers.set("sooner", 9.0, bench.notes("old"))
        bench.timers.set("sooner", 2.0, bench.notes("sooner"))
        await asyncio.sleep(20)
        return bench.fired

    assert run(main()) == [(2.0, "sooner"), (4.0, "later")]


def test_cancelled_timer_does_not_fire() -> None:
    async def main() -> Fired:
        bench = _Bench()
        bench.timers.set("a", 1.0, bench.notes("a"))
        bench.timers.set("b", 2.0, bench.notes("b"))
        assert "a" in bench.timers
        assert bench.timers.cancel("a") is True
        assert bench.timers.cancel("a") is False
        assert "a" not in bench.timers
        await asyncio.sleep(5)
        return bench.fired

    assert run(main()) == [(2.0, "b")]


def test_failing_action_is_reported_and_affects_no_other_timer() -> None:
    async def main() -> tuple[Fired, list[str]]:
        bench = _Bench()

        async def fails() -> None:
            raise ValueError("no")

        def fails_at_once() -> Awaitable[None]:
            raise ValueError("not even started")

        bench.timers.set("bad", 1.0, fails)
        bench.timers.set("worse", 2.0, fails_at_once)
        bench.timers.set("good", 3.0, bench.notes("good"))
        await asyncio.sleep(5)
        return bench.fired, bench.failures

    assert run(main()) == ([(3.0, "good")], ["test bad: no", "test worse: not even started"])


def test_action_may_reset_its_own_timer() -> None:
    async def main() -> int:
        bench = _Bench()
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            ticks += 1
            bench.timers.set("tick", 1.0, tick)

        bench.timers.set("tick", 1.0, tick)
        await asyncio.sleep(5.5)
        return ticks

    assert run(main()) == 5


def test_stop_cancels_everything() -> None:
    async def main() -> Fired:
        bench = _Bench()
        bench.timers.set("a", 1.0, bench.notes("a"))
        bench.timers.stop()
        bench.timers.set("b", 1.0, bench.notes("b"))
        await asyncio.sleep(5)
        assert (len(bench.timers), len(bench.tasks)) == (0, 0)
        return bench.fired

    assert run(main()) == []


@pytest.mark.parametrize("how", ["later", "sooner", "cancelled"])
def test_setting_one_key_repeatedly_uses_bounded_memory(how: str) -> None:
    async def main() -> int:
        bench = _Bench()
        action = bench.notes("a")
        for step in range(100_000):
            bench.timers.set_at("a", 1e6 - step if how == "sooner" else 1e6 + step, action)
            if how == "cancelled":
                bench.timers.cancel("a")
        assert len(bench.tasks) == 1, "one sleeping task, regardless of how often the first timer changed"
        await asyncio.sleep(1)
        return len(bench.timers._queue)

    assert run(main()) < 100


operations = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.one_of(st.none(), st.integers(0, 6)),
        st.integers(0, 3),
    ),
    max_size=30,
)


@given(seed=st.integers(0, 1000), script=operations)
def test_any_sequence_of_calls_fires_like_the_model(
    seed: int, script: list[tuple[str, int | None, int]]
) -> None:
    """Each step sets a key some seconds ahead, or cancels it, then waits. Timers fire between calls."""
    expected: Fired = []
    pending: dict[str, tuple[float, str]] = {}

    async def main() -> Fired:
        bench = _Bench()
        for number, (key, after, pause) in enumerate(script):
            now = virtual_loop().time()
            expected.extend(pop for pop in sorted(pending.values()) if pop[0] <= now)
            for name in [name for name, (due, _) in pending.items() if due <= now]:
                del pending[name]
            if after is None:
                assert bench.timers.cancel(key) is (pending.pop(key, None) is not None)
            else:
                bench.timers.set(key, after + 0.5, bench.notes(f"{key}{number}"))
                pending[key] = (now + after + 0.5, f"{key}{number}")
            await asyncio.sleep(pause)
        await asyncio.sleep(100)
        expected.extend(sorted(pending.values()))
        return sorted(bench.fired)

    fired = run(main(), seed=seed)
    assert fired == sorted(expected)
