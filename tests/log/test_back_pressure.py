"""Back pressure: unacknowledged bytes are bounded, and appends wait in order."""

import asyncio

import pytest

from dray.log import Appended, LogClosed
from dray.log.stages import BATCH_OVERHEAD_BYTES
from dray.objects.port import Unavailable
from dray.records import BatchRules, validate
from dray.testing.sim.batches import tagged_batch
from tests.log.builders import ONE, TWO, OpenLog, Rig, outcomes, simulated, simulated_in_order
from tests.log.test_sealing import _BATCH_BYTES

_HELD_BYTES = _BATCH_BYTES + BATCH_OVERHEAD_BYTES


async def _full(rig: Rig, batches: int = 2) -> tuple[OpenLog, list["asyncio.Future[Appended]"]]:
    """Return a log whose budget is used up by puts that hang."""
    opened = await rig.open(buffer_bytes_max=batches * _HELD_BYTES)
    opened.objects.hold_puts()
    promises = [await opened.send(f"{number}") for number in range(batches)]
    return opened, promises


@simulated_in_order
async def test_appends_wait_for_the_budget_and_resume_in_order(rig: Rig) -> None:
    opened, taken = await _full(rig)
    waiting = [asyncio.create_task(opened.send(tag)) for tag in "abc"]
    await rig.settle()
    assert not any(task.done() for task in waiting)
    assert opened.held_bytes == 2 * _HELD_BYTES
    opened.objects.let_all()
    promises = [await task for task in waiting]
    assert await outcomes(*taken, *promises) == ["0", "1", "2", "3", "4"]
    await rig.settle()
    assert opened.held_bytes == 0


@simulated
async def test_cancelled_append_releases_its_place(rig: Rig) -> None:
    opened, taken = await _full(rig)
    cancelled, kept = (asyncio.create_task(opened.send(tag)) for tag in "xy")
    await rig.settle()
    cancelled.cancel()
    await rig.settle()
    opened.objects.let_all()
    assert await outcomes(*taken, await kept) == ["0", "1", "2"]
    await rig.settle()
    assert opened.held_bytes == 0
    assert [tag for _, _, tag in await opened.tags()] == ["0", "1", "y"]


@simulated
async def test_batch_of_a_cancelled_caller_is_stored_and_its_bytes_released(rig: Rig) -> None:
    opened, (first, second) = await _full(rig)
    await rig.settle()
    first.cancel()
    opened.objects.let_all()
    assert await outcomes(second) == ["1"]
    await rig.settle()
    assert opened.held_bytes == 0
    assert [tag for _, _, tag in await opened.tags()] == ["0", "1"]


@simulated
async def test_bytes_are_released_after_a_failure(rig: Rig) -> None:
    opened, taken = await _full(rig)
    opened.objects.put_fault = lambda _: Unavailable("no")
    waiting = asyncio.create_task(opened.send("later"))
    await rig.settle()
    opened.objects.let_all()
    assert await outcomes(*taken, await waiting) == ["NotStored"] * 3
    await rig.settle()
    assert opened.held_bytes == 0


@simulated
async def test_batch_larger_than_the_budget_is_admitted_alone(rig: Rig) -> None:
    opened = await rig.open(buffer_bytes_max=10)
    promises = [await opened.send(tag) for tag in "ab"]
    assert await outcomes(*promises) == ["0", "1"]
    await rig.settle()
    assert opened.held_bytes == 0


@simulated
async def test_waiting_appends_fail_when_the_log_closes(rig: Rig) -> None:
    opened, taken = await _full(rig)
    waiting = asyncio.create_task(opened.send("too late"))
    await rig.settle()
    closing = asyncio.create_task(opened.log.close())
    await rig.settle()
    assert not closing.done()
    opened.objects.let_all()
    await closing
    with pytest.raises(LogClosed):
        await waiting
    assert await outcomes(*taken) == ["0", "1"]
    assert opened.held_bytes == 0
    assert (await rig.head(ONE)).high_watermark == 2


@simulated
async def test_batch_in_a_large_request_does_not_keep_the_request_alive(rig: Rig) -> None:
    opened = await rig.open()
    small = bytes(tagged_batch("x", 0).buffer)
    request = memoryview(small + bytes(1 << 20))
    batch = validate(request[: len(small)], BatchRules(), 0)
    await (await opened.log.append(ONE, batch))
    (kept,) = opened.log._recent._chunks.values()
    assert [memoryview(view.obj).nbytes for view in kept[2]] == [len(small)]
    assert await opened.tags() == [(0, 1, "x")]


@simulated
async def test_batch_that_fills_its_request_is_not_copied(rig: Rig) -> None:
    opened = await rig.open()
    request = bytes(tagged_batch("x", 0).buffer)
    await (await opened.log.append(ONE, validate(memoryview(request), BatchRules(), 0)))
    (kept,) = opened.log._recent._chunks.values()
    assert [view.obj is request for view in kept[2]] == [True]


@simulated
async def test_batches_that_fill_a_request_together_are_not_copied(rig: Rig) -> None:
    opened = await rig.open()
    one = bytes(tagged_batch("x" * 20_000, 0).buffer)
    request = one * 8
    for stream, at in ((ONE, 0), (TWO, len(one))):
        batch = validate(memoryview(request)[at : at + len(one)], BatchRules(), 0)
        await (await opened.log.append(stream, batch, together_bytes=len(request)))
    kept = [view for *_, batches in opened.log._recent._chunks.values() for view in batches]
    assert [view.obj is request for view in kept] == [True, True]
