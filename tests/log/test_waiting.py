"""Waits at the end of a stream: ended by any commit or by the timeout."""

import asyncio

import pytest

from dray.index import StreamHead
from dray.log import StreamUnknown
from tests.log.builders import ONE, THREE, TWO, OpenLog, Rig, simulate, simulated


def _wait(opened: OpenLog, offset: int, seconds: float = 60.0) -> "asyncio.Task[StreamHead]":
    return asyncio.create_task(opened.wait_past(offset, seconds))


def _waiting(opened: OpenLog) -> int:
    return sum(len(watches) for watches in opened.log._domains[0].heads._watches.values())


@simulated
async def test_wait_past_returns_at_once_when_the_record_exists(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("x")
    before = rig.clock.monotonic()
    assert (await opened.wait_past(0, 60.0)).high_watermark == 1
    assert rig.clock.monotonic() == before


@simulated
async def test_own_and_other_commits_end_the_wait(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    for offset, writer in enumerate((ours, other, ours)):
        waiting = [_wait(ours, offset), _wait(other, offset)]
        await rig.settle(1)
        assert not any(task.done() for task in waiting)
        before = rig.clock.monotonic()
        await writer.append("x")
        assert [(await task).high_watermark for task in waiting] == [offset + 1] * 2
        assert rig.clock.monotonic() == before
    assert _waiting(ours) == _waiting(other) == 0


@simulated
async def test_other_streams_and_lower_offsets_do_not_end_the_wait(rig: Rig) -> None:
    opened = await rig.open()
    waiting = _wait(opened, 2)
    await opened.append("x", TWO)
    await opened.append("0")
    await opened.append("1")
    await rig.settle(1)
    assert not waiting.done()
    await opened.append("2")
    assert (await waiting).high_watermark == 3


@simulated
async def test_timeout_returns_the_current_head(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("0")
    began = rig.clock.monotonic()
    head = await opened.wait_past(5, 2.5)
    assert abs(rig.clock.monotonic() - began - 2.5) < 1e-6
    assert head.high_watermark == 1
    assert (await opened.wait_past(5, 0)).high_watermark == 1
    assert _waiting(opened) == 0


@simulated
async def test_cancelled_wait_leaves_no_subscription(rig: Rig) -> None:
    opened = await rig.open()
    waiting = _wait(opened, 0)
    await rig.settle(1)
    assert _waiting(opened) == 1
    waiting.cancel()
    await rig.settle(1)
    assert _waiting(opened) == 0


@simulated
async def test_deletion_of_the_stream_ends_the_wait(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    waiting = _wait(ours, 0)
    await rig.settle(1)
    await other.log.delete_stream(ONE)
    with pytest.raises(StreamUnknown):
        await waiting
    assert _waiting(ours) == 0


@simulated
async def test_resumed_watch_wakes_all_waiters(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    waiting = _wait(ours, 0)
    await rig.settle(0.1)
    ours.link.faults["changes"] = "refuse"
    await other.append("x")
    rig.server.forget_changes()
    await rig.settle(5)
    assert not waiting.done(), "nothing was committed"
    ours.link.faults.clear()
    await rig.settle(1)
    assert waiting.done()
    assert (await waiting).high_watermark == 1


@simulated
async def test_own_commit_ends_the_wait_without_the_watch(rig: Rig) -> None:
    opened = await rig.open()
    waiting = _wait(opened, 0)
    await rig.settle(0.1)
    opened.link.faults["changes"] = "refuse"
    await opened.append("x")
    before = rig.clock.monotonic()
    assert (await waiting).high_watermark == 1
    assert rig.clock.monotonic() == before


@simulated
async def test_watch_reports_each_of_several_streams(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    with ours.log.watched([ONE, TWO]) as changed:
        for stream, expected in ((ONE, True), (TWO, True), (THREE, False)):
            changed.clear()
            await other.append("x", stream)
            await rig.settle()
            assert changed.is_set() == expected
    assert _waiting(ours) == 0


@pytest.mark.parametrize("seed", range(40))
def test_no_order_of_steps_loses_a_wake_up(seed: int) -> None:
    """The commit happens while the waiter subscribes, reads and starts to wait."""

    async def body(rig: Rig) -> None:
        ours, other = await rig.open("a"), await rig.open("b")
        for offset in range(8):
            began = rig.clock.monotonic()
            waiting = _wait(ours, offset)
            writing = asyncio.create_task((other if offset % 2 else ours).append("x"))
            assert (await waiting).high_watermark == offset + 1
            await writing
            assert rig.clock.monotonic() - began < 1

    simulate(body, seed)
