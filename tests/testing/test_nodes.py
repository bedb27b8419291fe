"""Simulated processes: the work that a crash drops, and the work that it must not affect."""

import asyncio
import gc
import warnings

import pytest

from dray.testing.clock import EPOCH_MS, VirtualClock
from dray.testing.nodes import Node, NodeCrashed, current_node, outside
from dray.testing.virtual_loop import run, virtual_loop


async def _ticks(trace: list[str], name: str) -> None:
    try:
        while True:
            await asyncio.sleep(1)
            trace.append(name)
    finally:
        trace.append(f"{name} finally")


def test_crash_drops_the_work_of_that_node_only() -> None:
    trace: list[str] = []

    async def life_of_a() -> None:
        loop = virtual_loop()
        loop.create_task(_ticks(trace, "a child"))
        loop.call_later(5, trace.append, "a timer")
        loop.call_later(2.5, loop.call_soon, trace.append, "a late callback")
        await _ticks(trace, "a")

    async def main() -> list[str]:
        a, b = Node("a"), Node("b")
        a.start(life_of_a())
        b.start(_ticks(trace, "b"))
        await asyncio.sleep(2.25)
        assert sorted(trace) == ["a", "a", "a child", "a child", "b", "b"]
        trace.clear()
        a.crash()
        await asyncio.sleep(3)
        gc.collect()
        return list(trace)

    assert run(main()) == ["b", "b", "b"]
    assert trace.count("a finally") == 1, "closed once the simulation is over"


def test_node_can_crash_at_every_step() -> None:
    """The k-th step of the node never runs, the steps before it do."""

    async def life_of_a(done: list[int]) -> None:
        for number in range(5):
            done.append(number)
            await asyncio.sleep(1)

    def crashed_at(step: int) -> list[int]:
        done: list[int] = []

        def on_step(node: Node | None) -> None:
            if node is not None and node.steps == step:
                node.crash()

        async def main() -> list[int]:
            Node("a").start(life_of_a(done))
            await asyncio.sleep(10)
            return list(done)

        return run(main(), on_step=on_step)

    # A sleep is two steps: its timer, then the task.
    assert [len(crashed_at(step)) for step in range(1, 12)] == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_dropped_callback_is_kept_until_the_end() -> None:
    """A dropped coroutine would otherwise warn that it was never awaited."""

    async def life_of_a() -> None:
        loop = virtual_loop()
        loop.call_soon(loop.create_task, _ticks([], "never"))

    def on_step(node: Node | None) -> None:
        if node is not None and node.steps == 2:
            node.crash()

    async def main() -> None:
        a = Node("a")
        a.start(life_of_a())
        await asyncio.sleep(10)
        assert not a.alive

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        run(main(), on_step=on_step)
    assert not warned


def test_run_raises_node_crashed_if_the_node_crashes() -> None:
    async def main() -> str:
        a = Node("a")
        assert await a.run(asyncio.sleep(1, "answer")) == "answer"
        virtual_loop().call_later(1, a.crash)
        with pytest.raises(NodeCrashed, match="a incarnation 1"):
            await a.run(asyncio.sleep(5))
        assert virtual_loop().time() == 2.0
        with pytest.raises(NodeCrashed, match="restart"):
            a.start(asyncio.sleep(1))
        a.restart()
        return await a.run(asyncio.sleep(1, repr(a)))

    assert run(main()) == "<a incarnation 2, alive>"


def test_cancelling_run_cancels_the_task_of_the_node() -> None:
    trace: list[str] = []

    async def main() -> None:
        a = Node("a")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.5):
                await a.run(_ticks(trace, "a"))
        await asyncio.sleep(3)
        assert trace == ["a", "a finally"]

    run(main())


def test_restarted_node_runs_nothing_of_its_last_incarnation() -> None:
    trace: list[str] = []

    async def main() -> list[str]:
        a = Node("a")
        a.start(_ticks(trace, "old"))
        await asyncio.sleep(1.5)
        a.crash()
        with pytest.raises(RuntimeError, match="must crash"):
            Node("b").restart()
        a.restart()
        a.start(_ticks(trace, "new"))
        await asyncio.sleep(2.25)
        return list(trace)

    assert run(main()) == ["old", "new", "new"]


def test_resumed_node_runs_what_was_held_back() -> None:
    async def sets_a_timer(trace: list[str]) -> asyncio.TimerHandle:
        return virtual_loop().call_later(2, trace.append, "cancelled while held")

    async def main() -> tuple[list[str], list[str]]:
        trace: list[str] = []
        a = Node("a")
        a.start(_ticks(trace, "a"))
        timer = await a.run(sets_a_timer(trace))
        await asyncio.sleep(1.5)
        a.pause()
        await asyncio.sleep(1)
        timer.cancel()
        await asyncio.sleep(10)
        while_paused = list(trace)
        a.resume()
        a.resume()
        await asyncio.sleep(0.5)
        return while_paused, list(trace)

    assert run(main()) == (["a"], ["a", "a"])


def test_current_node_is_the_node_that_runs_the_code() -> None:
    async def who() -> Node | None:
        return await virtual_loop().create_task(inner())

    async def inner() -> Node | None:
        return current_node()

    async def main() -> None:
        a = Node("a")
        assert await a.run(who()) is a
        assert await who() is None

    run(main())


def test_outside_work_survives_its_node() -> None:
    async def main() -> list[str]:
        applied: list[str] = []

        async def server(request: str) -> str:
            await asyncio.sleep(1)
            applied.append(request)
            assert current_node() is None
            return f"{request} done"

        a = Node("a")
        assert await a.run(outside(server("first"))) == "first done"
        a.start(outside(server("second")))
        await asyncio.sleep(0.5)
        a.crash()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await outside(server("third"))
        await asyncio.sleep(2)
        return applied

    assert run(main(), shuffle=False) == ["first", "second", "third"]


def test_outside_failure_of_a_crashed_node_is_ignored() -> None:
    async def server() -> None:
        await asyncio.sleep(1)
        raise ValueError("refused")

    async def main() -> None:
        a = Node("a")
        a.start(outside(server()))
        await asyncio.sleep(0.5)
        a.crash()
        await asyncio.sleep(1)
        with pytest.raises(ValueError, match="refused"):
            await outside(server())

    run(main())


def test_timers_of_crashed_nodes_do_not_prevent_a_deadlock() -> None:
    async def main() -> None:
        a = Node("a")
        a.start(asyncio.sleep(1000))
        await asyncio.sleep(1)
        a.crash()
        await asyncio.Event().wait()

    with pytest.raises(
        Exception, match=r"at 1\.000000 virtual seconds.*\n.*\n(.*\n)*.*a incarnation 1, crashed"
    ):
        run(main())


def test_clocks_may_have_skew_and_drift() -> None:
    async def main() -> None:
        loop = virtual_loop()
        right, ahead, fast = VirtualClock(loop), VirtualClock(loop, skew_ms=250), VirtualClock(loop, rate=2.0)
        await right.sleep(1.001)
        assert right.now_ms() == EPOCH_MS + 1001
        assert ahead.now_ms() == EPOCH_MS + 1251
        assert fast.now_ms() == EPOCH_MS + 2002
        assert (right.monotonic(), fast.monotonic()) == (1.001, 2.002)
        ahead.set_skew(-10)
        assert ahead.now_ms() == EPOCH_MS + 991
        await fast.sleep(4)
        assert right.monotonic() == pytest.approx(3.001)

    run(main())
