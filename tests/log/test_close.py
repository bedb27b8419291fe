"""Close of a log: every accepted batch gets its outcome, and no more are accepted."""

import asyncio

import pytest

from dray.log import LogClosed
from dray.objects.port import Unavailable
from tests.log.builders import ONE, TWO, Rig, outcomes, simulated


@simulated
async def test_close_waits_for_every_accepted_batch(rig: Rig) -> None:
    opened = await rig.open(flush_bytes=150, linger_ms=60_000, puts_in_flight_max=2)
    opened.objects.put_seconds = 0.1
    promises = [await opened.send(f"{number}") for number in range(9)]
    await opened.log.close()
    assert all(promise.done() for promise in promises)
    assert await outcomes(*promises) == [f"{offset}" for offset in range(9)]
    assert opened.held_bytes == 0
    assert len(await opened.tags()) == 9, "a closed log can still be read"


@simulated
async def test_close_waits_for_a_batch_not_yet_sealed(rig: Rig) -> None:
    opened = await rig.open()
    promise = await opened.send("x")
    await opened.log.close()
    assert promise.done()
    assert await outcomes(promise) == ["0"]


@simulated
async def test_append_after_close_is_refused(rig: Rig) -> None:
    opened = await rig.open()
    await opened.log.close()
    for stream in (ONE, TWO):
        with pytest.raises(LogClosed):
            await opened.send("x", stream)
    assert opened.held_bytes == 0
    assert opened.objects.puts == []


@simulated
async def test_close_releases_unused_reservations(rig: Rig) -> None:
    opened = await rig.open(staging_markers_ahead=5)
    await opened.append("x")
    assert len(await rig.staged()) == 4
    await opened.log.close()
    assert await rig.staged() == []


@simulated
async def test_close_while_puts_fail_resolves_every_batch(rig: Rig) -> None:
    opened = await rig.open(flush_bytes=1, puts_in_flight_max=2)
    opened.objects.put_seconds = 0.1
    opened.objects.put_fault = lambda number: Unavailable("away") if number % 2 else None
    promises = [await opened.send(f"{number}", records=1) for number in range(6)]
    await opened.log.close()
    results = await outcomes(*promises)
    assert results.count("NotStored") == 3
    assert [outcome for outcome in results if outcome != "NotStored"] == ["0", "1", "2"]
    assert opened.held_bytes == 0


@simulated
async def test_close_may_be_repeated_and_concurrent(rig: Rig) -> None:
    opened = await rig.open()
    opened.objects.put_seconds = 0.1
    promise = await opened.send("x")
    await asyncio.gather(opened.log.close(), opened.log.close())
    assert promise.done()
    await opened.log.close()


@simulated
async def test_close_of_an_idle_log_is_immediate(rig: Rig) -> None:
    opened = await rig.open()
    before = rig.clock.monotonic()
    await opened.log.close()
    assert rig.clock.monotonic() == before
