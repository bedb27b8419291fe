"""Damage in the stores: it affects only its own stream, and errors name it."""

import pytest

from dray.ids import StreamId
from dray.index import encode_head
from dray.keyspace import entries_after, head_key, producers_key
from dray.log import LogDamaged, StreamUnknown
from dray.meta.port import Delete, Put
from tests.log.builders import ONE, STORE_DOMAIN, TWO, OpenLog, Rig, outcomes, simulate, simulated
from tests.log.compacting import compact, records

GARBAGE = b"\xc1 this is not msgpack"


async def _corrupt_head(rig: Rig) -> None:
    await rig.meta.commit(STORE_DOMAIN, [], [Put(head_key(ONE), GARBAGE)])


async def _corrupt_snapshot(rig: Rig) -> None:
    await rig.meta.commit(STORE_DOMAIN, [], [Put(producers_key(ONE), GARBAGE)])
    await _touch_head(rig)


async def _corrupt_entry(rig: Rig) -> None:
    (found,) = await rig.meta.scan(STORE_DOMAIN, *entries_after(ONE, -1))
    await rig.meta.commit(STORE_DOMAIN, [], [Put(found.key, GARBAGE)])
    await _touch_head(rig)


async def _touch_head(rig: Rig) -> None:
    """Give the head a new version, so that no cached state is used."""
    await rig.meta.commit(STORE_DOMAIN, [], [Put(head_key(ONE), encode_head(await rig.head(ONE)))])


@pytest.mark.parametrize("corrupt", [_corrupt_head, _corrupt_snapshot, _corrupt_entry])
def test_damage_fails_only_its_stream(corrupt: object) -> None:
    assert callable(corrupt)

    async def body(rig: Rig) -> None:
        opened = await rig.open()
        await opened.produce(0)
        await corrupt(rig)
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
async def test_unknown_and_deleted_streams_fail_only_their_batches(rig: Rig) -> None:
    opened, other = await rig.open("a"), await rig.open("b")
    await opened.append("x", ONE)
    await other.log.delete_stream(ONE)
    unknown = StreamId(99)
    promises = [await opened.send("x", stream) for stream in (unknown, ONE, TWO)]
    assert await outcomes(*promises) == ["StreamUnknown", "StreamUnknown", "0"]
    for stream in (unknown, ONE):
        with pytest.raises(StreamUnknown):
            await opened.log.read(stream, 0, 1)
        with pytest.raises(StreamUnknown):
            await opened.log.head(stream)
        with pytest.raises(StreamUnknown):
            await opened.log.trim(stream, 0)


@simulated
async def test_object_of_unknown_streams_only_is_left_to_the_sweep(rig: Rig) -> None:
    opened = await rig.open(staging_markers_ahead=1)
    assert await outcomes(await opened.send("x", StreamId(99))) == ["StreamUnknown"]
    assert await rig.committed() == []
    assert [marker.path for marker in await rig.staged()] == rig.paths()


async def _one_uncached_batch(rig: Rig) -> tuple[OpenLog, str]:
    opened = await rig.open(tail_cache_bytes_max=0)
    await opened.append("x", records=3)
    (path,) = rig.paths()
    return opened, path


@simulated
async def test_missing_object_is_reported_by_path(rig: Rig) -> None:
    opened, path = await _one_uncached_batch(rig)
    rig.bucket.delete(path)
    with pytest.raises(LogDamaged) as raised:
        await opened.log.read(ONE, 1, 1)
    assert path in str(raised.value)
    assert "offsets 0 to 2" in str(raised.value)
    assert f"restore {path} from a backup, or delete records up to offset 3" in str(raised.value)


@simulated
async def test_remedies_for_a_missing_object_work(rig: Rig) -> None:
    opened, path = await _one_uncached_batch(rig)
    await opened.append("next")
    whole = rig.bucket.get(path)
    rig.bucket.delete(path)
    rig.bucket.put_new(path, [whole])
    assert len(await opened.tags()) == 2, "restored"
    rig.bucket.delete(path)
    assert await opened.log.trim(ONE, 3) == 3
    assert [tag for _, _, tag in await opened.tags(offset=3)] == ["next"], "trimmed"


@simulated
async def test_corrupt_batch_is_reported_by_position(rig: Rig) -> None:
    opened, path = await _one_uncached_batch(rig)
    corrupted = bytearray(rig.bucket.get(path))
    (entry,) = await rig.wal_entries()
    at = entry.chunk_offset + entry.rows[0].position
    corrupted[at + 8 : at + 12] = b"\0\0\0\1"
    rig.bucket.delete(path)
    rig.bucket.put_new(path, [bytes(corrupted)])
    with pytest.raises(LogDamaged, match=f"at byte {at}") as raised:
        await opened.log.read(ONE, 0, 1)
    assert path in str(raised.value)


def _replace(rig: Rig, path: str, whole: bytes) -> None:
    rig.bucket.delete(path)
    rig.bucket.put_new(path, [whole])


def _flipped(whole: bytes, at: int) -> bytes:
    return whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]


@pytest.mark.parametrize("place", [10, 30, 40, -1], ids=["length", "timestamp", "maximum", "records"])
def test_damaged_batch_is_not_served_and_not_cached(place: int) -> None:
    async def body(rig: Rig) -> None:
        opened, path = await _one_uncached_batch(rig)
        whole = bytes(rig.bucket.get(path))
        (entry,) = await rig.wal_entries()
        row = entry.rows[0]
        at = entry.chunk_offset + row.position + (place if place >= 0 else row.length + place)
        _replace(rig, path, _flipped(whole, at))
        for _ in range(2):
            with pytest.raises(LogDamaged, match=path):
                await opened.log.read(ONE, 0, 1)
        _replace(rig, path, whole)
        assert await opened.tags() == [(0, 3, "x")]

    simulate(body)


@simulated
async def test_object_replaced_by_another_is_not_served(rig: Rig) -> None:
    opened = await rig.open(tail_cache_bytes_max=0)
    for tag in "ab":
        await opened.append(tag)
        await rig.settle()
    first, second = await rig.wal_entries()
    whole = bytes(rig.bucket.get(second.path))
    _replace(rig, second.path, bytes(rig.bucket.get(first.path)))
    with pytest.raises(LogDamaged, match=second.path):
        await opened.log.read(ONE, 1, 1)
    for time_ms in (first.max_timestamp_ms + 1, second.max_timestamp_ms):
        with pytest.raises(LogDamaged, match=second.path):
            await opened.log.find_time(ONE, time_ms)
    _replace(rig, second.path, whole)
    assert [tag for _, _, tag in await opened.tags()] == ["a", "b"]


@pytest.mark.parametrize("by_time", [False, True])
def test_reader_continues_once_a_restored_object_is_compacted(by_time: bool) -> None:
    async def body(rig: Rig) -> None:
        opened, path = await _one_uncached_batch(rig)
        whole = bytes(rig.bucket.get(path))
        (entry,) = await rig.wal_entries()
        end = entry.chunk_offset + entry.chunk_length
        _replace(rig, path, _flipped(whole, end - 1))
        time_ms = entry.max_timestamp_ms
        with pytest.raises(LogDamaged, match=path):  # either one reads the chunk into the cache
            await (opened.log.find_time(ONE, time_ms) if by_time else opened.log.read(ONE, 0, 1))
        _replace(rig, path, whole)
        await compact(rig)
        rig.bucket.delete(path)
        assert [record.offset for record in await records(opened)] == [0, 1, 2]

    simulate(body)


@simulated
async def test_restored_parquet_file_is_read_without_a_restart(rig: Rig) -> None:
    opened, _ = await _one_uncached_batch(rig)
    file = await compact(rig)
    reader = await rig.open("reader")
    whole = bytes(rig.bucket.get(file.path))
    _replace(rig, file.path, _flipped(whole, len(whole) - 20))
    with pytest.raises(LogDamaged, match=file.path):
        await reader.log.read(ONE, 0, 1)
    _replace(rig, file.path, whole)
    assert [record.offset for record in await records(reader)] == [0, 1, 2]
    await opened.log.close()


@simulated
async def test_gap_in_the_index_is_reported(rig: Rig) -> None:
    opened = await rig.open(index_cache_bytes_max=1)
    for tag in "abc":
        await opened.append(tag)
    second = (await rig.meta.scan(STORE_DOMAIN, *entries_after(ONE, 1)))[0]
    await rig.meta.commit(STORE_DOMAIN, [], [Delete(second.key)])
    with pytest.raises(LogDamaged, match=r"no index entry for its offset 1; restore the metadata store"):
        await opened.log.read(ONE, 1, 1)
