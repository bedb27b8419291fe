"""An unknown producer's lost first batch: those behind it must not be taken for a beginning."""

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
    """Fail the puts of objects that hold these batches."""
    inner = opened.objects.put_new

    async def put_new(path: str, parts: object) -> None:
        assert isinstance(parts, list)
        if any(bytes(part).find(b"\x02" + tag.encode()) >= 0 for part in parts for tag in tags):
            raise Unavailable("lost by the test")
        await inner(path, parts)

    opened.objects.put_new = put_new  # type: ignore[method-assign]


@simulated
async def test_later_batches_do_not_pass_a_lost_first_one(rig: Rig) -> None:
    opened = await rig.open(flush_bytes=1)
    kept = opened.objects.put_new
    _lose(opened, "0")
    assert await outcomes(*await _window(opened, range(3))) == [
        "NotStored",
        "SequenceRefused",
        "SequenceRefused",
    ]
    opened.objects.put_new = kept  # type: ignore[method-assign]
    assert await outcomes(*await _window(opened, range(3))) == ["0", "1", "2"]


@simulated
async def test_the_first_of_several_lost_ones_must_come_first(rig: Rig) -> None:
    opened = await rig.open(flush_bytes=1)
    kept = opened.objects.put_new
    _lose(opened, "0", "1")
    assert await outcomes(*await _window(opened, range(2))) == ["NotStored", "NotStored"]
    opened.objects.put_new = kept  # type: ignore[method-assign]
    assert await outcomes(*await _window(opened, range(1, 2))) == ["SequenceRefused"]
    assert await outcomes(*await _window(opened, range(2))) == ["0", "1"]


@simulated
async def test_a_known_producer_needs_no_such_rule(rig: Rig) -> None:
    opened = await rig.open(flush_bytes=1)
    await opened.produce(0)
    kept = opened.objects.put_new
    _lose(opened, "1")
    assert await outcomes(*await _window(opened, range(1, 3))) == ["NotStored", "SequenceRefused"]
    opened.objects.put_new = kept  # type: ignore[method-assign]
    assert await outcomes(*await _window(opened, range(1, 3))) == ["1", "2"]


@simulated
async def test_other_streams_and_epochs_are_not_concerned(rig: Rig) -> None:
    opened = await rig.open(flush_bytes=1)
    kept = opened.objects.put_new
    _lose(opened, "0")
    await outcomes(*await _window(opened, range(1)))
    opened.objects.put_new = kept  # type: ignore[method-assign]
    assert (await opened.append("x", TWO, producer_id=7, epoch=0, sequence=5)).base_offset == 0
    assert (await opened.append("x", ONE, producer_id=8, epoch=0, sequence=5)).base_offset == 0
    assert (await opened.append("x", ONE, producer_id=7, epoch=1, sequence=5)).base_offset == 1


@simulated
async def test_a_gap_that_was_closed_is_forgotten(rig: Rig) -> None:
    """The producer got through, fell silent, was forgotten, and may then begin anywhere again."""
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
async def test_the_memory_of_gaps_is_bounded(rig: Rig) -> None:
    lost = LostSequences()
    for producer in range(_REMEMBERED_MAX + 10):
        batch = memoryview(tagged_batch("x", 0, producer_id=producer, epoch=0, sequence=3).buffer)
        lost.note(ONE, Pending(batch, parse_header(batch), Future()))
    assert lost.first(ONE, 0, 0) is None
    assert lost.first(ONE, _REMEMBERED_MAX + 9, 0) == 3
    assert len(lost._first) == _REMEMBERED_MAX
