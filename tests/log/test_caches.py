"""Caches of the log: bounded, shared by readers, and effective."""

import asyncio
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from dray.ids import StreamId
from dray.index import StreamHead, WalEntry, assign, covers
from dray.log.index_cache import IndexCache
from tests.index.builders import chunk, draft
from tests.log.builders import ONE, OpenLog, Rig, simulated


async def _filled(rig: Rig, batches: int, **options: int) -> OpenLog:
    opened = await rig.open(**options)
    for number in range(batches):
        await opened.append(f"{number}")
    return opened


@simulated
async def test_own_recent_batches_are_served_from_memory(rig: Rig) -> None:
    opened = await _filled(rig, 5)
    assert len(await opened.tags()) == 5
    assert opened.objects.reads == []
    assert opened.counted("dray_log_chunk_reads_total", source="recent") == 5


@simulated
async def test_recent_batches_are_bounded_and_evicted_oldest_first(rig: Rig) -> None:
    opened = await _filled(rig, 20, tail_cache_bytes_max=300, readahead_chunks=0)
    assert 0 < opened.log._recent.size_bytes <= 300
    await opened.log.read(ONE, 19, 1)
    assert opened.objects.reads == []
    await opened.log.read(ONE, 0, 1)
    assert len(opened.objects.reads) == 1


@simulated
async def test_chunk_cache_is_bounded(rig: Rig) -> None:
    opened = await _filled(rig, 20, tail_cache_bytes_max=0, range_cache_bytes_max=300, readahead_chunks=0)
    cached = opened.log._domains[0].reader._chunks._cached
    for offset in range(20):
        await opened.log.read(ONE, offset, 1)
        assert cached.stats.held_bytes <= 300
    assert len(opened.objects.reads) == 20
    await opened.log.read(ONE, 19, 1)
    assert len(opened.objects.reads) == 20, "the last one is still held"
    await opened.log.read(ONE, 0, 1)
    assert len(opened.objects.reads) == 21


@simulated
async def test_index_cache_is_bounded(rig: Rig) -> None:
    opened = await _filled(rig, 40, index_cache_bytes_max=4_000)
    for offset in (0, 17, 39, 3):
        await opened.log.read(ONE, offset, 1)
        assert len(opened.log._index) <= 6


@simulated
async def test_cached_index_entries_are_not_read_again(rig: Rig) -> None:
    opened = await _filled(rig, 10)
    reader = await rig.open("b")
    await reader.tags()
    assert reader.link.calls["scan"] == 1
    await reader.tags()
    assert reader.link.calls["scan"] == 1
    await opened.tags()
    assert opened.link.calls["scan"] == 0, "entries of own commits are cached"


@simulated
async def test_concurrent_readers_of_a_chunk_share_one_read(rig: Rig) -> None:
    await _filled(rig, 1)
    reader = await rig.open("b")
    reader.objects.read_seconds = 0.1
    found = await asyncio.gather(*(reader.log.read(ONE, 0, 100) for _ in range(30)))
    assert {one.next_offset for one in found} == {1}
    assert len(reader.objects.reads) == 1


@simulated
async def test_next_chunks_are_prefetched_for_a_reader_catching_up(rig: Rig) -> None:
    await _filled(rig, 12)
    reader = await rig.open("b", readahead_chunks=3)
    reader.objects.read_seconds = 0.1
    began = rig.clock.monotonic()
    await reader.log.read(ONE, 0, 1)
    assert rig.clock.monotonic() - began < 0.1001
    await rig.settle(0.2)
    assert len(reader.objects.reads) == 4
    before = rig.clock.monotonic()
    for offset in (1, 2, 3):
        await reader.log.read(ONE, offset, 1)
    assert rig.clock.monotonic() == before, "prefetched chunks need no wait"
    await rig.settle(1)
    assert len(reader.objects.reads) == len(set(reader.objects.reads)) == 7


@simulated
async def test_chunk_is_prefetched_once_even_if_no_prefetch_has_started(rig: Rig) -> None:
    await _filled(rig, 12)
    reader = await rig.open("b", readahead_chunks=3)
    reader.objects.read_seconds = 0.1
    await reader.log.read(ONE, 0, 1)
    await rig.settle(0.2)
    chunks = reader.log._domains[0].reader._chunks
    for offset in (1, 2, 3):  # cached, so no task runs between these reads
        await reader.log.read(ONE, offset, 1)
    assert chunks._reading_ahead == 3, "those of offsets 4, 5 and 6"
    await rig.settle(0.2)
    assert len(reader.objects.reads) == len(set(reader.objects.reads)) == 7
    assert chunks._reading_ahead == 0
    assert chunks._prefetching == set()


@simulated
async def test_prefetch_grows_with_the_size_of_the_read(rig: Rig) -> None:
    await _filled(rig, 30)
    reader = await rig.open("b", readahead_chunks=2)
    (entry, *_) = await rig.wal_entries()
    reader.objects.read_seconds = 0.1
    await reader.log.read(ONE, 0, 8 * entry.chunk_length)
    assert rig.clock.monotonic() < 0.2, "chunks of one read are read concurrently"
    await rig.settle()
    assert len(reader.objects.reads) == len(set(reader.objects.reads))
    assert 8 + 8 <= len(reader.objects.reads) <= 8 + 8 + 2, "one at each end may be partial"


@simulated
async def test_readahead_of_zero_prefetches_nothing(rig: Rig) -> None:
    await _filled(rig, 10)
    reader = await rig.open("b", readahead_chunks=0)
    await reader.log.read(ONE, 0, 1)
    await rig.settle()
    assert len(reader.objects.reads) == 1


@simulated
async def test_index_reads_grow_for_sequential_readers(rig: Rig) -> None:
    await _filled(rig, 300)
    reader = await rig.open("b")
    assert len(await reader.tags()) == 300
    assert reader.link.calls["scan"] == 3, "32, then 256, then the rest"


@simulated
async def test_prefetches_of_all_readers_are_bounded(rig: Rig) -> None:
    await _filled(rig, 31)
    reader = await rig.open("b", readahead_chunks=1_000)
    reader.objects.read_seconds = 1.0
    reader.log._domains[0].reader._chunks._reading_ahead = 60
    await reader.log.read(ONE, 0, 1)
    assert reader.objects.reading_max == 1 + 4
    await rig.settle(5)
    assert reader.log._domains[0].reader._chunks._reading_ahead == 60


@simulated
async def test_tailing_readers_prefetch_nothing(rig: Rig) -> None:
    opened = await _filled(rig, 10)
    await opened.tags()
    await rig.settle(1)
    assert opened.objects.reads == []


def _index(lengths: list[int], stream: int) -> list[WalEntry]:
    head, entries = StreamHead(), []
    for number, count in enumerate(lengths):
        place = chunk(number)
        place = type(place)(StreamId(stream), place.wal_id, place.wal_path, place.offset, place.length)
        head, entry = assign(head, place, [draft(count)], 0)
        entries.append(entry)
    return entries


@given(
    st.integers(1, 8),
    st.lists(st.integers(1, 3), min_size=1, max_size=10),
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(0, 29)), max_size=60),
)
def test_index_cache_returns_covering_entries_and_stays_bounded(
    entries_max: int, lengths: list[int], steps: list[tuple[int, int, int]]
) -> None:
    cache = IndexCache(entries_max * 700)
    logs = [_index(lengths, stream) for stream in (0, 1)]
    for stream, number, offset in steps:
        cache.add(logs[stream][number % len(lengths)])
        found = cache.find(StreamId(stream), offset)
        assert len(cache) <= entries_max
        assert len(cache) == sum(len(kept) for kept in cache._streams.values())
        if found is not None:
            assert covers(found, offset)
            assert found in logs[stream]
    for stream in (0, 1):
        for kept in cache._streams.get(StreamId(stream), []):
            assert cache.find(StreamId(stream), kept.start_offset) == kept
        cache.drop(StreamId(stream))
    assert len(cache) == 0


def test_entry_replaces_those_it_covers() -> None:
    cache = IndexCache(10_000)
    small = _index([1, 1, 1, 1], 5)
    for entry in small:
        cache.add(entry)
    (large,) = _index([3], 5)
    cache.add(large)
    assert cache.find(StreamId(5), 1) == large
    assert cache.find(StreamId(5), 3) == small[3]
    assert len(cache) == 2


def test_entry_read_before_its_stream_was_dropped_is_not_cached() -> None:
    cache, stream = IndexCache(10_000), StreamId(5)
    (entry,) = _index([10], 5)
    for drop in (partial(cache.drop, stream), cache.drop_all):
        mark = cache.mark()
        drop()
        cache.add(entry, mark)
        assert cache.find(stream, 5) is None
        cache.add(entry, cache.mark())
        assert cache.find(stream, 5) == entry
