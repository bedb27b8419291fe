"""Lost first batch of an unknown producer: later batches must not be accepted as its start."""

from asyncio import Future

from dray.log import Appended
from dray.log.lost_sequences import _REMEMBERED_MAX, LostSequences
from dray.log.stages import Pending
from dray.objects.port import Unavailable
from dray.records import parse_header
from dray.testing.sim.batches import tagged_batch
from tests.log.builders import ONE, TWO, OpenLog, Rig, outcomes, simulated


async def _window(opened: OpenLog, sequences: range) -> list["Future[Appended]"]:
    return [
        await opened.send(f"{sequence}", producer_id=7, epoch=0, sequence=sequence) for sequence in sequences
    ]


def _lose(opened: OpenLog, *tags: str) -> None:
    """Fail the puts of objects with these batches."""
    inner = opened.objects.put_new

    async def put_new(path: str, parts: object) -> None:
        assert isinstance(parts, list)
        if any(bytes(part).find(b"\x02" + tag.encode()) >= 0 for part in parts for tag in tags):
            raise Unavailable("lost by the test")
        await inner(path, parts)

    opened.objects.put_new = put_new  # type: ignore[method-assign]


@simulated
async def test_batches_after_a_lost_first_one_are_refused(rig: Rig) -> None:
    opened = await rig.open(flush_bytes=1)
    kept = opened.objects.put_new
    _lose(opened, "0")
    assert await outcomes(*await _window(opened, range(3))) == [
        "NotStored",
        "SequenceRejected",
        "SequenceRejected",
    ]
    opened.objects.put_new = kept  # type: ignore[method-assign]
    assert await outcomes(*await _window(opened, range(3))) == ["0", "1", "2"]


@simulated
async def test_earliest_of_several_lost_batches_must_be_sent_first(rig: Rig) -> None:
    opened = await rig.open(flush_bytes=1)
    kept = opened.objects.put_new
    _lose(opened, "0", "1")
    assert await outcomes(*await _window(opened, range(2))) == ["NotStored", "NotStored"]
    opened.objects.put_new = kept  # type: ignore[method-assign]
    assert await outcomes(*await _window(opened, range(1, 2))) == ["SequenceRejected"]
    assert await outcomes(*await _window(opened, range(2))) == ["0", "1"]


@simulated
async def test_lost_batch_of_a_known_producer_refuses_the_next(rig: Rig) -> None:
    opened = await rig.open(flush_bytes=1)
    await opened.produce(0)
    kept = opened.objects.put_new
    _lose(opened, "1")
    assert await outcomes(*await _window(opened, range(1, 3))) == ["NotStored", "SequenceRejected"]
    opened.objects.put_new = kept  # type: ignore[method-assign]
    assert await outcomes(*await _window(opened, range(1, 3))) == ["1", "2"]


@simulated
async def test_other_streams_producers_and_epochs_are_unaffected(rig: Rig) -> None:
    opened = await rig.open(flush_bytes=1)
    kept = opened.objects.put_new
    _lose(opened, "0")
    await outcomes(*await _window(opened, range(1)))
    opened.objects.put_new = kept  # type: ignore[method-assign]
    assert (await opened.append("x", TWO, producer_id=7, epoch=0, sequence=5)).base_offset == 0
    assert (await opened.append("x", ONE, producer_id=8, epoch=0, sequence=5)).base_offset == 0
    assert (await opened.append("x", ONE, producer_id=7, epoch=1, sequence=5)).base_offset == 1


@simulated
async def test_closed_gap_is_forgotten(rig: Rig) -> None:
    """The producer succeeded, then expired, and may start at any sequence again."""
    opened = await rig.open(flush_bytes=1, producer_snapshot_entries=1, producer_id_expiration_ms=1_000)
    kept = opened.objects.put_new
    _lose(opened, "0")
    assert await outcomes(*await _window(opened, range(1))) == ["NotStored"]
    opened.objects.put_new = kept  # type: ignore[method-assign]
    assert await outcomes(*await _window(opened, range(1))) == ["0"]
    await rig.settle(2)
    await opened.append("another", producer_id=8, epoch=0, sequence=0)
    assert await outcomes(*await _window(opened, range(9, 10))) == ["2"]


@simulated
async def test_number_of_remembered_gaps_is_bounded(rig: Rig) -> None:
    lost = LostSequences()
    for producer in range(_REMEMBERED_MAX + 10):
        batch = memoryview(tagged_batch("x", 0, producer_id=producer, epoch=0, sequence=3).buffer)
        lost.add(ONE, Pending(batch, parse_header(batch), Future()))
    assert lost.first(ONE, 0, 0) is None
    assert lost.first(ONE, _REMEMBERED_MAX + 9, 0) == 3
    assert len(lost._first) == _REMEMBERED_MAX
