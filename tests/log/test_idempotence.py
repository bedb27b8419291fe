"""Idempotent producers: duplicates, refusals, and recovery of their state."""

import pytest

from dray.keyspace import producers_key
from dray.log import SequenceRejected
from dray.producers import BATCHES_RETAINED, Reason, decode_snapshot
from tests.log.builders import ONE, STORE_DOMAIN, OpenLog, Rig, outcomes, simulate, simulated


async def _refused(opened: OpenLog, sequence: int, *, epoch: int = 0) -> Reason:
    with pytest.raises(SequenceRejected) as raised:
        await opened.produce(sequence, epoch=epoch)
    return raised.value.reason


@simulated
async def test_duplicate_returns_the_first_offset_and_time(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("other producer")
    sent_ms = rig.clock.now_ms()
    first = await opened.produce(0, records=2)
    await rig.settle()
    await opened.append("other producer")
    assert rig.clock.now_ms() > sent_ms
    assert await opened.produce(0, records=2) == first._replace(duplicate=True, newest_ms=sent_ms)
    assert [tag for _, _, tag in await opened.tags()] == ["other producer", "e0s0", "other producer"]


@simulated
async def test_duplicate_in_the_same_object_is_stored_once(rig: Rig) -> None:
    opened = await rig.open()
    promises = [await opened.send("x", producer_id=7, epoch=0, sequence=seq) for seq in (0, 0, 1, 5, 1)]
    assert await outcomes(*promises) == ["0", "0 again", "1", "SequenceRejected", "1 again"]
    assert [tag for _, _, tag in await opened.tags()] == ["x", "x"]
    assert (await rig.head()).high_watermark == 2


@simulated
async def test_object_of_duplicates_only_is_not_committed(rig: Rig) -> None:
    opened = await rig.open(staging_markers_ahead=1)
    await opened.produce(0)
    head = await rig.head()
    assert (await opened.produce(0)).duplicate
    assert await rig.head() == head
    assert [record.references for record in await rig.committed()] == [1]
    assert len(rig.paths()) == 2
    assert len(await rig.staged()) == 1


@simulated
async def test_out_of_order_sequence_and_stale_epoch_are_refused(rig: Rig) -> None:
    opened = await rig.open()
    await opened.produce(0)
    assert await _refused(opened, 2) is Reason.OUT_OF_ORDER_SEQUENCE
    assert await _refused(opened, 3, epoch=1) is Reason.OUT_OF_ORDER_SEQUENCE
    await opened.produce(0, epoch=1)
    assert await _refused(opened, 1, epoch=0) is Reason.STALE_EPOCH
    assert (await opened.produce(1, epoch=1)).base_offset == 2


@simulated
async def test_last_five_batches_are_recognized_across_commits(rig: Rig) -> None:
    opened = await rig.open()
    for sequence in range(BATCHES_RETAINED + 1):
        await opened.produce(sequence)
    for sequence in range(1, BATCHES_RETAINED + 1):
        again = await opened.produce(sequence)
        assert (again.base_offset, again.duplicate) == (sequence, True)
    assert await _refused(opened, 0) is Reason.OUT_OF_ORDER_SEQUENCE


@pytest.mark.parametrize("entries", [1, 3, 64])
def test_another_log_recovers_the_state_from_snapshot_and_replay(entries: int) -> None:
    async def body(rig: Rig) -> None:
        opened = await rig.open("a", producer_snapshot_entries=entries)
        for sequence in range(7):
            await opened.produce(sequence)
            await opened.append("plain")
        fresh = await rig.open("b")
        own = opened.log._domains[0].states
        other = fresh.log._domains[0].states
        assert await own.load([ONE]) == await other.load([ONE])
        assert (await fresh.produce(6)).duplicate
        assert await _refused(fresh, 9) is Reason.OUT_OF_ORDER_SEQUENCE
        assert (await fresh.produce(7)).base_offset == 14

    simulate(body)


@simulated
async def test_entries_to_replay_are_bounded(rig: Rig) -> None:
    opened = await rig.open(producer_snapshot_entries=3)
    replayed = []
    for sequence in range(10):
        await opened.produce(sequence)
        head = await rig.head()
        replayed.append(head.unsnapshotted)
        assert len([entry for entry in await rig.entries() if entry.end_offset > head.snapshot_end]) == (
            head.unsnapshotted
        )
    assert replayed == [1, 2, 0, 1, 2, 0, 1, 2, 0, 1]
    stored = await rig.meta.get(STORE_DOMAIN, producers_key(ONE))
    assert stored is not None
    assert decode_snapshot(stored.value)[7].batches[-1].last_sequence == 8


@simulated
async def test_stream_without_idempotent_producers_has_no_snapshot(rig: Rig) -> None:
    opened = await rig.open(producer_snapshot_entries=1)
    for _ in range(5):
        await opened.append("plain")
    head = await rig.head()
    assert (head.unsnapshotted, head.snapshot_end) == (0, 5)
    assert await rig.meta.get(STORE_DOMAIN, producers_key(ONE)) is None


@simulated
async def test_state_survives_the_trim_of_its_records(rig: Rig) -> None:
    opened = await rig.open("a")
    for sequence in range(4):
        await opened.produce(sequence)
    await opened.log.trim(ONE, 4)
    assert await rig.entries() == []
    for log in (opened, await rig.open("b")):
        assert (await log.produce(3)).duplicate
        assert await _refused(log, 9) is Reason.OUT_OF_ORDER_SEQUENCE
    assert (await opened.produce(4)).base_offset == 4


@simulated
async def test_idle_producer_expires_with_the_next_snapshot(rig: Rig) -> None:
    opened = await rig.open("a", producer_snapshot_entries=1, producer_id_expiration_ms=1_000)
    await opened.produce(0)
    await rig.settle(2)
    await opened.append("another producer", producer_id=8, epoch=0, sequence=0)
    assert (await opened.produce(5)).base_offset == 2
    assert (await (await rig.open("b")).produce(6)).base_offset == 3


@simulated
async def test_batch_is_not_refused_because_of_a_stale_head(rig: Rig) -> None:
    """Another log commits the preceding batch; this one must notice before it refuses."""
    ours, other = await rig.open("a"), await rig.open("b")
    await ours.produce(0)
    ours.link.faults["changes"] = "refuse"
    assert (await other.produce(1)).base_offset == 1
    assert (await ours.produce(2)).base_offset == 2
    assert (await other.produce(3)).base_offset == 3
    assert (await ours.produce(3)).duplicate
