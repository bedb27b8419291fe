"""Slow stores, cancelled callers and shutdown: latency is bounded, and every batch gets an outcome."""

import asyncio
from functools import partial

import pytest

from dray.ids import StreamId, meta_domain
from dray.log import LogClosed
from dray.runtime import Clock
from tests.log.builders import Rig, outcomes, simulated
from tests.log.test_lost_sequences import _lose


def _record_wait(waits: list[float], clock: Clock, sent: float, _: object) -> None:
    waits.append(clock.monotonic() - sent)


@simulated
async def test_slow_puts_make_larger_objects_instead_of_a_longer_queue(rig: Rig) -> None:
    """Four concurrent puts of 200 ms store twenty objects a second, too few for one every 20 ms."""
    opened = await rig.open(linger_ms=20, puts_in_flight_max=4)
    opened.objects.put_seconds = 0.2
    waits: list[float] = []
    for number in range(1_000):
        promise = await opened.send(f"{number}")
        promise.add_done_callback(partial(_record_wait, waits, rig.clock, rig.clock.monotonic()))
        await rig.clock.sleep(0.01)
    await opened.log.close()
    assert len(waits) == 1_000
    assert max(waits) < 0.5
    assert len(opened.objects.puts) < 250


@simulated
async def test_lost_first_batch_of_a_cancelled_caller_is_remembered(rig: Rig) -> None:
    opened = await rig.open(flush_bytes=1)
    kept = opened.objects.put_new
    _lose(opened, "0")
    first = await opened.send("0", producer_id=7, epoch=0, sequence=0)
    second = await opened.send("1", producer_id=7, epoch=0, sequence=1)
    first.cancel()
    assert await outcomes(second) == ["SequenceRejected"]
    opened.objects.put_new = kept  # type: ignore[method-assign]
    assert (await opened.produce(0)).base_offset == 0
    assert opened.counted("dray_log_lost_batches_total") == 1


@simulated
async def test_stopping_the_tasks_fails_every_pending_batch(rig: Rig) -> None:
    opened = await rig.open(flush_bytes=1, puts_in_flight_max=1)
    opened.objects.hold_puts()
    promises = [await opened.send(f"{number}") for number in range(3)]
    await rig.settle()
    await opened.tasks.stop()
    assert await outcomes(*promises) == ["NotStored"] * 3
    assert await outcomes(await opened.send("after")) == ["NotStored"]
    await opened.log.close()
    assert opened.held_bytes == 0


@simulated
async def test_close_without_the_metadata_store_closes_every_domain(rig: Rig) -> None:
    opened = await rig.open(domains=2)
    numbered = [StreamId(number) for number in range(100, 120)]
    streams = [next(filter(lambda s: meta_domain(s, 2) == domain, numbered)) for domain in (0, 1)]
    for stream in streams:
        await opened.log.create_stream(stream)
        await opened.append("x", stream)
    opened.link.faults["commit"] = "refuse"
    await opened.log.close()
    for stream in streams:
        with pytest.raises(LogClosed):
            await opened.send("late", stream)


@simulated
async def test_woken_readers_share_one_read_of_the_head(rig: Rig) -> None:
    opened = await rig.open()
    waiting = [asyncio.create_task(opened.wait_past(0, 60)) for _ in range(50)]
    await rig.settle()
    asked = opened.link.calls["get"]
    await opened.append("x")
    await asyncio.gather(*waiting)
    assert opened.link.calls["get"] - asked <= 3
