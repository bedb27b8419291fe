"""Failing stores: producers get the true outcome and other batches are unaffected."""

import asyncio

import pytest

from dray.log import Appended, NotStored, OutcomeUncertain, StoreUnavailable
from dray.meta.port import OutcomeUnknown
from dray.objects.port import AlreadyExists, ObjectError, StoreUnusable, Unavailable
from dray.sweep import WalSweep
from tests.log.builders import DOMAIN, ONE, TWO, Rig, outcomes, simulate, simulated


@pytest.mark.parametrize("error", [Unavailable("away"), AlreadyExists("taken"), StoreUnusable("full")])
def test_failed_put_fails_only_its_batches(error: ObjectError) -> None:
    async def body(rig: Rig) -> None:
        opened = await rig.open(flush_bytes=1)
        opened.objects.hold_puts()
        promises = [await opened.send(f"{number}") for number in range(3)]
        await rig.settle()
        opened.objects.put_fault = lambda number: error if number == 1 else None
        opened.objects.let_all()
        results = await outcomes(*promises)
        assert sorted(results) == ["0", "1", "NotStored"]
        lost = promises[results.index("NotStored")].exception()
        assert lost is not None
        assert lost.__cause__ is error
        assert [tag for _, _, tag in await opened.tags()] == [
            f"{number}" for number, outcome in enumerate(results) if outcome != "NotStored"
        ]
        assert await opened.append("after") == Appended(2, 0)
        assert opened.counted("dray_log_lost_batches_total") == 1

    for seed in range(3):
        simulate(body, seed)


@simulated
async def test_nothing_is_put_while_the_metadata_store_is_unavailable(rig: Rig) -> None:
    opened = await rig.open()
    opened.link.faults["commit"] = "refuse"
    assert await outcomes(await opened.send("x")) == ["NotStored"]
    assert opened.objects.puts == []
    opened.link.faults.clear()
    assert await outcomes(await opened.send("x")) == ["0"]


@simulated
async def test_refused_commit_raises_not_stored(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("0")
    opened.link.faults["commit"] = "refuse"
    assert await outcomes(await opened.send("lost")) == ["NotStored"]
    opened.link.faults.clear()
    assert await outcomes(await opened.send("1")) == ["1"]
    assert await opened.tags() == [(0, 1, "0"), (1, 1, "1")]


@simulated
async def test_lost_response_is_resolved_by_the_commit_id(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("0")
    opened.link.faults["commit"] = "lose response"
    assert await outcomes(await opened.send("1")) == ["1"]
    opened.link.faults.clear()
    assert await opened.tags() == [(0, 1, "0"), (1, 1, "1")]


@pytest.mark.parametrize("happened", [False, True])
def test_unknown_outcome_raises_outcome_uncertain_and_the_log_stays_correct(happened: bool) -> None:
    async def body(rig: Rig) -> None:
        opened = await rig.open()
        await opened.append("0")
        opened.link.faults["commit"] = "lose response" if happened else "lose request"
        opened.link.faults["fence"] = "lose request"
        promise = await opened.send("perhaps")
        with pytest.raises(OutcomeUncertain) as raised:
            await promise
        assert isinstance(raised.value.__cause__, OutcomeUnknown)
        opened.link.faults.clear()
        middle = ["perhaps"] if happened else []
        assert await opened.append("last") == Appended(1 + len(middle), 0)
        assert [tag for _, _, tag in await opened.tags()] == ["0", *middle, "last"]
        await rig.settle()
        assert opened.held_bytes == 0

    for seed in range(3):
        simulate(body, seed)


@simulated
async def test_unexpected_exception_in_a_put_fails_only_its_batches(rig: Rig) -> None:
    opened = await rig.open()
    opened.objects.put_fault = lambda number: ZeroDivisionError("a bug") if number == 0 else None
    promise = await opened.send("x")
    with pytest.raises(NotStored, match="ZeroDivisionError"):
        await promise
    assert await outcomes(await opened.send("y")) == ["0"]
    assert opened.tasks.failures == 1
    await rig.settle()
    assert opened.held_bytes == 0


@simulated
async def test_unexpected_exception_in_a_commit_fails_only_its_batches(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("0")

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    kept = opened.log._domains[0].heads.update
    opened.log._domains[0].heads.update = broken  # type: ignore[assignment, method-assign]
    promise = await opened.send("1")
    with pytest.raises(OutcomeUncertain, match="ZeroDivisionError"):
        await promise
    opened.log._domains[0].heads.update = kept  # type: ignore[method-assign]
    assert (await opened.append("2")).base_offset == 2
    assert [tag for _, _, tag in await opened.tags()] == ["0", "1", "2"]
    await rig.settle()
    assert opened.held_bytes == 0


@simulated
async def test_object_swept_before_its_commit_is_not_stored(rig: Rig) -> None:
    """The sweep assumes that a process idle for the orphan TTL is dead."""
    opened = await rig.open(flush_bytes=1, orphan_ttl_ms=10_000)
    opened.objects.hold_puts()
    swept = await opened.send("swept")
    other = await opened.send("swept too", TWO)
    await rig.settle(11)
    await WalSweep(rig.meta, opened.objects, DOMAIN, rig.clock, 10_000).run()
    fresh = await opened.send("fresh")
    opened.objects.let_all()
    assert await outcomes(swept, other) == ["NotStored", "NotStored"]
    assert await outcomes(fresh) == ["0"]
    assert await opened.tags() == [(0, 1, "fresh")]
    assert await opened.tags(TWO) == []


@simulated
async def test_reads_without_a_store_raise_store_unavailable(rig: Rig) -> None:
    opened = await rig.open(tail_cache_bytes_max=0)
    await opened.append("x")
    opened.objects.read_fault = Unavailable("away")
    with pytest.raises(StoreUnavailable):
        await opened.log.read(ONE, 0, 1)
    opened.objects.read_fault = None
    opened.link.faults["get"] = "refuse"
    with pytest.raises(StoreUnavailable):
        await opened.log.head(ONE)
    with pytest.raises(StoreUnavailable):
        await opened.wait_past(5, 1.0)
    opened.link.faults.clear()
    assert await opened.tags() == [(0, 1, "x")]


@simulated
async def test_cancelling_the_tasks_of_the_log_fails_pending_batches(rig: Rig) -> None:
    opened = await rig.open()
    opened.objects.hold_puts()
    promise = await opened.send("x")
    await rig.settle()
    stopping = asyncio.create_task(opened.tasks.stop())
    assert await outcomes(promise) == ["NotStored"]
    await stopping
