"""Bytes accepted and not yet acknowledged are bounded; who has to wait waits in order and leaks nothing."""

import asyncio

import pytest

from dray.log import Appended, LogClosed
from dray.objects.port import Unavailable
from tests.log.builders import ONE, OpenLog, Rig, outcomes, simulated, simulated_in_order
from tests.log.test_sealing import _BATCH_BYTES


async def _full(rig: Rig, batches: int = 2) -> tuple[OpenLog, list["asyncio.Future[Appended]"]]:
    """Return a log whose budget is used up by puts that hang."""
    opened = await rig.open(buffer_bytes_max=batches * _BATCH_BYTES)
    opened.objects.hold_puts()
    promises = [await opened.send(f"{number}") for number in range(batches)]
    return opened, promises


@simulated_in_order
async def test_appends_wait_when_the_budget_is_used_up_and_go_on_in_order(rig: Rig) -> None:
    opened, taken = await _full(rig)
    waiting = [asyncio.create_task(opened.send(tag)) for tag in "abc"]
    await rig.settle()
    assert not any(task.done() for task in waiting)
    assert opened.held_bytes == 2 * _BATCH_BYTES
    opened.objects.let_all()
    promises = [await task for task in waiting]
    assert await outcomes(*taken, *promises) == ["0", "1", "2", "3", "4"]
    await rig.settle()
    assert opened.held_bytes == 0


@simulated
async def test_a_cancelled_waiter_leaves_nothing_behind(rig: Rig) -> None:
    opened, taken = await _full(rig)
    gone, stays = (asyncio.create_task(opened.send(tag)) for tag in "xy")
    await rig.settle()
    gone.cancel()
    await rig.settle()
    opened.objects.let_all()
    assert await outcomes(*taken, await stays) == ["0", "1", "2"]
    await rig.settle()
    assert opened.held_bytes == 0
    assert [tag for _, _, tag in await opened.tags()] == ["0", "1", "y"]


@simulated
async def test_a_caller_that_goes_away_leaves_its_batch_and_no_bytes(rig: Rig) -> None:
    opened, (first, second) = await _full(rig)
    await rig.settle()
    first.cancel()
    opened.objects.let_all()
    assert await outcomes(second) == ["1"]
    await rig.settle()
    assert opened.held_bytes == 0
    assert [tag for _, _, tag in await opened.tags()] == ["0", "1"]


@simulated
async def test_bytes_come_back_after_a_failure_too(rig: Rig) -> None:
    opened, taken = await _full(rig)
    opened.objects.put_fault = lambda _: Unavailable("no")
    waiting = asyncio.create_task(opened.send("later"))
    await rig.settle()
    opened.objects.let_all()
    assert await outcomes(*taken, await waiting) == ["NotStored"] * 3
    await rig.settle()
    assert opened.held_bytes == 0


@simulated
async def test_a_batch_larger_than_the_budget_passes_alone(rig: Rig) -> None:
    opened = await rig.open(buffer_bytes_max=10)
    promises = [await opened.send(tag) for tag in "ab"]
    assert await outcomes(*promises) == ["0", "1"]
    await rig.settle()
    assert opened.held_bytes == 0


@simulated
async def test_who_waits_when_the_log_closes_is_told(rig: Rig) -> None:
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
