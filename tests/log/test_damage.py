"""One stream in trouble does not hurt the others in the same object, and damage is told by name."""

import pytest

from dray.ids import StreamId
from dray.index import encode_head, entries_after, head_key, producers_key
from dray.log import LogDamaged, StreamUnknown
from dray.meta.port import Delete, Put
from tests.log.builders import ONE, STORE_DOMAIN, TWO, OpenLog, Rig, outcomes, simulate, simulated

GARBAGE = b"\xc1 this is not msgpack"


async def _spoil_head(rig: Rig) -> None:
    await rig.meta.commit(STORE_DOMAIN, [], [Put(head_key(ONE), GARBAGE)])


async def _spoil_snapshot(rig: Rig) -> None:
    await rig.meta.commit(STORE_DOMAIN, [], [Put(producers_key(ONE), GARBAGE)])
    await _touch_head(rig)


async def _spoil_entry(rig: Rig) -> None:
    (found,) = await rig.meta.scan(STORE_DOMAIN, *entries_after(ONE, -1))
    await rig.meta.commit(STORE_DOMAIN, [], [Put(found.key, GARBAGE)])
    await _touch_head(rig)


async def _touch_head(rig: Rig) -> None:
    """Give the head a new version, so that nobody relies on what it knew."""
    await rig.meta.commit(STORE_DOMAIN, [], [Put(head_key(ONE), encode_head(await rig.head(ONE)))])


@pytest.mark.parametrize("spoil", [_spoil_head, _spoil_snapshot, _spoil_entry])
def test_a_damaged_stream_fails_alone(spoil: object) -> None:
    assert callable(spoil)

    async def body(rig: Rig) -> None:
        opened = await rig.open()
        await opened.produce(0)
        await spoil(rig)
        await rig.settle()
        promises = [await opened.send("x", ONE), await opened.send("y", TWO)]
        assert await outcomes(*promises) == ["LogDamaged", "0"]
        assert f"{ONE:016x}" in str(promises[0].exception())
        assert await opened.tags(TWO) == [(0, 1, "y")]
        assert [record.references for record in await rig.committed()] == [1, 1]
        await rig.settle()
        assert opened.held_bytes == 0

    for seed in range(3):
        simulate(body, seed)


@simulated
async def test_unknown_and_deleted_streams_fail_alone(rig: Rig) -> None:
    opened, other = await rig.open("a"), await rig.open("b")
    await opened.append("x", ONE)
    await other.log.delete_stream(ONE)
    nobody = StreamId(99)
    promises = [await opened.send("x", stream) for stream in (nobody, ONE, TWO)]
    assert await outcomes(*promises) == ["StreamUnknown", "StreamUnknown", "0"]
    for stream in (nobody, ONE):
        with pytest.raises(StreamUnknown):
            await opened.log.read(stream, 0, 1)
        with pytest.raises(StreamUnknown):
            await opened.log.head(stream)
        with pytest.raises(StreamUnknown):
            await opened.log.trim(stream, 0)


@simulated
async def test_an_object_full_of_unknown_streams_is_left_to_the_sweep(rig: Rig) -> None:
    opened = await rig.open(reservations=1)
    assert await outcomes(await opened.send("x", StreamId(99))) == ["StreamUnknown"]
    assert await rig.committed() == []
    assert [marker.path for marker in await rig.staged()] == rig.paths()


async def _one_batch_to_be_read_from_the_bucket(rig: Rig) -> tuple[OpenLog, str]:
    opened = await rig.open(recent_bytes_max=0)
    await opened.append("x", records=3)
    (path,) = rig.paths()
    return opened, path


@simulated
async def test_a_missing_object_is_damage_that_names_it(rig: Rig) -> None:
    opened, path = await _one_batch_to_be_read_from_the_bucket(rig)
    rig.bucket.delete(path)
    with pytest.raises(LogDamaged) as told:
        await opened.log.read(ONE, 1, 1)
    assert path in str(told.value)
    assert "offsets 0 to 2" in str(told.value)
    assert f"restore {path} from a copy, or delete the records before offset 3" in str(told.value)


@simulated
async def test_what_the_message_says_can_be_done_about_a_missing_object_helps(rig: Rig) -> None:
    opened, path = await _one_batch_to_be_read_from_the_bucket(rig)
    await opened.append("behind it")
    whole = rig.bucket.get(path)
    rig.bucket.delete(path)
    rig.bucket.put_new(path, [whole])
    assert len(await opened.tags()) == 2, "restored"
    rig.bucket.delete(path)
    assert await opened.log.trim(ONE, 3) == 3
    assert [tag for _, _, tag in await opened.tags(offset=3)] == ["behind it"], "done without"


@simulated
async def test_other_bytes_where_a_batch_should_be_are_damage_that_names_the_place(rig: Rig) -> None:
    opened, path = await _one_batch_to_be_read_from_the_bucket(rig)
    spoiled = bytearray(rig.bucket.get(path))
    (entry,) = await rig.wal_entries()
    at = entry.chunk_offset + entry.rows[0].position
    spoiled[at + 8 : at + 12] = b"\0\0\0\1"
    rig.bucket.delete(path)
    rig.bucket.put_new(path, [bytes(spoiled)])
    with pytest.raises(LogDamaged, match=f"at byte {at}") as told:
        await opened.log.read(ONE, 0, 1)
    assert path in str(told.value)


@simulated
async def test_an_index_with_a_hole_is_damage(rig: Rig) -> None:
    opened = await rig.open(index_cache_bytes_max=1)
    for tag in "abc":
        await opened.append(tag)
    second = (await rig.meta.scan(STORE_DOMAIN, *entries_after(ONE, 1)))[0]
    await rig.meta.commit(STORE_DOMAIN, [], [Delete(second.key)])
    with pytest.raises(LogDamaged, match=r"no index entry for its offset 1; restore the metadata store"):
        await opened.log.read(ONE, 1, 1)
