"""Trim and deletion of streams: references, markers, and idempotence."""

import asyncio

import pytest

from dray.keyspace import head_key, producers_key
from dray.log import OffsetOutOfRange, StreamUnknown
from dray.testing.entropy import SeededEntropy
from tests.log.builders import ONE, STORE_DOMAIN, TWO, OpenLog, Rig, outcomes, simulate, simulated


async def _shared_objects(rig: Rig, objects: int, **options: int) -> OpenLog:
    """Return a log whose objects each hold a batch of two records of ONE and one of TWO."""
    opened = await rig.open(**options)
    for _ in range(objects):
        await outcomes(await opened.send("x", ONE, records=2), await opened.send("y", TWO))
    return opened


@simulated
async def test_trim_moves_the_log_start_and_removes_whole_entries_before_it(rig: Rig) -> None:
    opened = await _shared_objects(rig, 4)
    assert await opened.log.trim(ONE, 5) == 5
    assert (await rig.head()).log_start == 5
    assert [entry.start_offset for entry in await rig.wal_entries()] == [4, 6]
    assert sorted(record.references for record in await rig.committed()) == [1, 1, 2, 2]
    assert await rig.pending_deletion() == []
    assert (await opened.append("z")).log_start == 5
    assert (await rig.head()).high_watermark == 9


@simulated
async def test_last_reference_leaves_a_marker_with_a_grace_period(rig: Rig) -> None:
    opened = await _shared_objects(rig, 2, wal_gc_grace_ms=5_000)
    await opened.log.trim(ONE, 2)
    (kept,) = [record for record in await rig.committed() if record.references == 1]
    await opened.log.trim(TWO, 1)
    (marker,) = await rig.pending_deletion()
    assert (marker.path, marker.delete_after_ms) == (kept.path, rig.clock.now_ms() + 5_000)
    assert [record.references for record in await rig.committed()] == [2]
    assert len(rig.paths()) == 2, "the sweep deletes the object"


@pytest.mark.parametrize("seed", range(10))
def test_concurrent_trims_release_each_reference_once(seed: int) -> None:
    """Several processes remove entries of the same object, and the same entries."""

    async def body(rig: Rig) -> None:
        logs = [await _shared_objects(rig, 5), await rig.open("b"), await rig.open("c")]
        entropy = SeededEntropy(seed)
        for opened in logs:
            opened.link.slow_by = lambda: entropy.uniform(0, 0.01)
        await asyncio.gather(
            *(opened.log.trim(stream, end) for opened in logs for stream, end in ((ONE, 10), (TWO, 4)))
        )
        assert [record.references for record in await rig.committed()] == [1]
        assert len(await rig.pending_deletion()) == 4
        assert len(await rig.wal_entries(TWO)) == 1

    simulate(body, seed)


@simulated
async def test_repeated_or_lower_trim_changes_nothing(rig: Rig) -> None:
    opened = await _shared_objects(rig, 3)
    await opened.log.trim(ONE, 4)
    before = (await rig.head(), await rig.wal_entries(), await rig.committed(), await rig.pending_deletion())
    for offset in (4, 3, 0, -1):
        assert await opened.log.trim(ONE, offset) == 4
    assert before == (
        await rig.head(),
        await rig.wal_entries(),
        await rig.committed(),
        await rig.pending_deletion(),
    )


@simulated
async def test_trim_beyond_the_end_is_refused(rig: Rig) -> None:
    opened = await _shared_objects(rig, 1)
    with pytest.raises(OffsetOutOfRange):
        await opened.log.trim(ONE, 3)
    assert (await rig.head()).log_start == 0


@simulated
async def test_append_continues_after_everything_is_trimmed(rig: Rig) -> None:
    opened = await _shared_objects(rig, 40)
    assert await opened.log.trim(ONE, 80) == 80
    assert await rig.wal_entries() == []
    assert (await opened.log.read(ONE, 80, 1)).parts == []
    assert (await opened.append("next")).base_offset == 80
    assert await opened.tags(offset=80) == [(80, 1, "next")]


@simulated
async def test_references_are_exact_after_concurrent_trims_and_appends(rig: Rig) -> None:
    logs = [await rig.open(name, flush_bytes=1) for name in "ab"]
    for round_number in range(6):
        promises = [await opened.send("x", stream) for opened in logs for stream in (ONE, TWO)]
        await asyncio.gather(*(opened.log.trim(ONE, max(0, 2 * round_number - 1)) for opened in logs))
        await outcomes(*promises)
    references = [entry.wal_path for stream in (ONE, TWO) for entry in await rig.wal_entries(stream)]
    assert {record.path: record.references for record in await rig.committed()} == {
        path: references.count(path) for path in references
    }
    assert (await rig.head()).high_watermark == 12


@simulated
async def test_deletion_keeps_only_objects_of_other_streams(rig: Rig) -> None:
    opened = await _shared_objects(rig, 40)
    await opened.produce(0)
    await opened.log.trim(ONE, 1)
    await opened.log.delete_stream(ONE)
    assert await rig.wal_entries(ONE) == []
    for key in (head_key(ONE), producers_key(ONE)):
        assert await rig.meta.get(STORE_DOMAIN, key) is None
    assert {record.references for record in await rig.committed()} == {1}
    assert len(await rig.pending_deletion()) == 1
    with pytest.raises(StreamUnknown):
        await opened.log.delete_stream(ONE)
    assert len(await opened.tags(TWO)) == 40


@simulated
async def test_append_in_flight_fails_when_its_stream_is_deleted(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    await ours.append("x")
    ours.objects.hold_puts()
    promises = [await ours.send("late", ONE), await ours.send("kept", TWO)]
    await rig.settle()
    await other.log.delete_stream(ONE)
    ours.objects.let_all()
    assert await outcomes(*promises) == ["StreamUnknown", "0"]
    assert await rig.wal_entries(ONE) == []


@simulated
async def test_append_to_a_condemned_stream_fails_despite_cached_state(rig: Rig) -> None:
    deleting, unaware = await rig.open("a"), await rig.open("b")
    await unaware.append("before")
    unaware.link.faults["changes"] = "refuse"
    await deleting.log.condemn_stream(ONE)
    with pytest.raises(StreamUnknown):
        await unaware.append("after")
    assert (await rig.head()).deleted
    await deleting.log.condemn_stream(ONE)
    await deleting.log.delete_stream(ONE)
    assert await rig.entries() == []
