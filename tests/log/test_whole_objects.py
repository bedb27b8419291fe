"""Reads of whole objects: small ones once for all their streams, large ones by the chunk."""

import asyncio

import msgspec

from dray.index import encode_entry
from dray.keyspace import entry_key
from dray.log import detach_buffers
from dray.meta.port import Put
from dray.objects.port import ByteRange
from dray.testing.sim.batches import read_tags
from tests.log.builders import ONE, STORE_DOMAIN, THREE, TWO, OpenLog, Rig, outcomes, simulated

_ALL = (ONE, TWO, THREE)
_MIDDLE = 300_000
"""Size of an object that is read whole only if much of it is wanted."""


async def _one_object(rig: Rig, *sizes: int) -> None:
    """Write one object with a chunk of about so many bytes for each stream."""
    writer = await rig.open("writer")
    writer.objects.hold_puts()
    first = await writer.send("goes alone")
    await rig.settle()
    chunks = zip(_ALL, sizes, strict=False)
    promises = [await writer.send(f"{stream}".zfill(size), stream) for stream, size in chunks]
    writer.objects.let_all()
    await outcomes(first, *promises)
    assert len(rig.paths()) == 2


async def _reader(rig: Rig, **options: int) -> OpenLog:
    return await rig.open("reader", readahead_chunks=0, **options)


def _spans(reader: OpenLog) -> list[ByteRange]:
    return [span for _, span in reader.objects.reads]


@simulated
async def test_small_object_is_read_once_for_all_its_streams(rig: Rig) -> None:
    await _one_object(rig, 10, 20, 30)
    reader = await _reader(rig)
    for stream, offset in ((ONE, 1), (TWO, 0), (THREE, 0)):
        ((_, _, tag),) = await reader.tags(stream, offset)
        assert int(tag) == stream
    (entry,) = await rig.wal_entries(TWO)
    assert reader.objects.reads == [(entry.wal_path, ByteRange(0, entry.wal_bytes))]
    assert len(rig.bucket.get(entry.wal_path)) == entry.wal_bytes
    held = reader.log._domains[0].reader._chunks._cached.stats.held_bytes
    assert held == entry.wal_bytes, "all cached bytes are counted"
    assert reader.counted("dray_log_chunk_reads_total", source="objects") == 1
    assert reader.counted("dray_log_chunk_reads_total", source="cache") == 2


@simulated
async def test_readers_of_different_streams_share_the_read(rig: Rig) -> None:
    await _one_object(rig, 10, 20, 30)
    reader = await _reader(rig)
    reader.objects.read_seconds = 1.0
    await asyncio.gather(*(reader.tags(stream) for stream in (TWO, THREE)))
    assert len(reader.objects.reads) == 1


@simulated
async def test_small_chunk_of_a_larger_object_is_read_alone(rig: Rig) -> None:
    await _one_object(rig, 10, _MIDDLE)
    (entry,) = (await rig.wal_entries(ONE))[1:]
    reader = await _reader(rig)
    await reader.tags(ONE, 1)
    assert _spans(reader) == [ByteRange(entry.chunk_offset, entry.chunk_length)]
    await reader.tags(TWO)
    assert _spans(reader)[1:] == [ByteRange(0, entry.wal_bytes)], "most of the object is wanted"


@simulated
async def test_large_objects_are_read_by_the_chunk(rig: Rig) -> None:
    await _one_object(rig, 10, 600_000, 600_000)
    (entry,) = await rig.wal_entries(TWO)
    reader = await _reader(rig)
    await reader.tags(TWO)
    assert _spans(reader) == [ByteRange(entry.chunk_offset, entry.chunk_length)]


@simulated
async def test_object_larger_than_the_cache_is_not_read_whole(rig: Rig) -> None:
    await _one_object(rig, 10, 20, 30)
    (entry,) = await rig.wal_entries(TWO)
    reader = await _reader(rig, range_cache_bytes_max=entry.wal_bytes - 1)
    await reader.tags(TWO)
    assert _spans(reader) == [ByteRange(entry.chunk_offset, entry.chunk_length)]


@simulated
async def test_entries_without_the_object_size_are_served(rig: Rig) -> None:
    await _one_object(rig, 10, 20, 30)
    (entry,) = await rig.wal_entries(TWO)
    old = msgspec.structs.replace(entry, wal_bytes=0)
    key = entry_key(TWO, entry.end_offset, entry.cumulative_size)
    await rig.meta.commit(STORE_DOMAIN, [], [Put(key, encode_entry(old))])
    reader = await _reader(rig)
    assert len(await reader.tags(TWO)) == 1
    assert _spans(reader) == [ByteRange(entry.chunk_offset, entry.chunk_length)]


@simulated
async def test_intact_chunk_of_a_truncated_object_is_readable(rig: Rig) -> None:
    await _one_object(rig, 10, 20, 30)
    (entry,) = await rig.wal_entries(TWO)
    whole = rig.bucket.get(entry.wal_path)
    rig.bucket.delete(entry.wal_path)
    rig.bucket.put_new(entry.wal_path, [whole[:-1]])
    reader = await _reader(rig)
    assert len(await reader.tags(TWO)) == 1
    assert _spans(reader) == [
        ByteRange(0, entry.wal_bytes),
        ByteRange(entry.chunk_offset, entry.chunk_length),
    ]


@simulated
async def test_slices_are_copied_only_if_their_buffers_are_much_larger(rig: Rig) -> None:
    await _one_object(rig, 100, 50_000, 100_000)
    reader = await _reader(rig)
    slices = [await reader.log.read(stream, 0, 1 << 20) for stream in (TWO, THREE)]
    views = [list(one.parts) for one in slices]
    detach_buffers(slices)
    assert [one.parts for one in slices] == views, "the slices are most of the object"
    alone = await reader.log.read(ONE, 1, 1 << 20)
    detach_buffers([alone])
    assert [type(part) for part in alone.parts] == [bytes]
    ((base, _, tag),) = read_tags(alone.parts)
    assert (base, int(tag)) == (1, ONE)
