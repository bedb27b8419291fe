"""Reads by offset: start, end, and the error for an offset out of range."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.index import BatchRow
from dray.log import OffsetOutOfRange, detach_buffers
from dray.sweep import WalSweep
from dray.testing.sim.batches import read_tags
from tests.log.builders import DOMAIN, ONE, OpenLog, Rig, outcomes, simulate, simulated


async def _filled(rig: Rig, counts: list[int], per_object: int = 2, **options: int) -> OpenLog:
    """Return a log of batches with these numbers of records, tagged by position."""
    opened = await rig.open(**options)
    for first in range(0, len(counts), per_object):
        promises = [
            await opened.send(f"{number}", records=count)
            for number, count in enumerate(counts[first : first + per_object], first)
        ]
        await asyncio.gather(*promises)
    return opened


@simulated
async def test_offset_inside_a_batch_returns_the_whole_batch(rig: Rig) -> None:
    opened = await _filled(rig, [3, 4, 2])
    for offset, tag in ((0, "0"), (2, "0"), (3, "1"), (5, "1"), (6, "1"), (7, "2"), (8, "2")):
        found = await opened.log.read(ONE, offset, 1)
        ((base, count, read),) = read_tags(found.parts)
        assert (read, base <= offset < base + count) == (tag, True)
        assert found.next_offset == base + count


@simulated
async def test_read_at_the_end_is_empty_and_outside_the_log_refused(rig: Rig) -> None:
    opened = await _filled(rig, [2, 2, 2])
    await opened.log.trim(ONE, 3)
    found = await opened.log.read(ONE, 6, 100)
    assert (found.parts, found.next_offset) == ([], 6)
    for offset in (-1, 0, 2, 7, 1 << 40):
        with pytest.raises(OffsetOutOfRange) as raised:
            await opened.log.read(ONE, offset, 100)
        assert (raised.value.offset, raised.value.log_start, raised.value.high_watermark) == (offset, 3, 6)
    ((base, count, tag),) = read_tags((await opened.log.read(ONE, 3, 1)).parts)
    assert (base, count, tag) == (2, 2, "1"), "the log starts inside this batch"


@settings(max_examples=30)
@given(
    counts=st.lists(st.integers(1, 4), min_size=1, max_size=12),
    per_object=st.integers(1, 5),
    offset=st.integers(0, 40),
    max_bytes=st.integers(0, 1_000),
    recent=st.sampled_from([0, 200, 1 << 20]),
    whole_first=st.booleans(),
)
def test_read_returns_as_many_batches_as_fit(
    *, counts: list[int], per_object: int, offset: int, max_bytes: int, recent: int, whole_first: bool
) -> None:
    async def body(rig: Rig) -> None:
        opened = await _filled(rig, counts, per_object, tail_cache_bytes_max=recent)
        start = offset % sum(counts)
        everything = await opened.tags()
        found = await opened.log.read(ONE, start, max_bytes, whole_first=whole_first)
        sizes = {
            tag: row.length
            for tag, row in zip((tag for *_, tag in everything), await _rows(rig), strict=True)
        }
        expected: list[tuple[int, int, str]] = []
        for base, count, tag in everything:
            if base + count <= start:
                continue
            forced = whole_first and not expected
            if not forced and sum(sizes[known] for *_, known in expected) + sizes[tag] > max_bytes:
                break
            expected.append((base, count, tag))
        assert list(read_tags(found.parts)) == expected
        assert (
            found.size_bytes
            == sum(sizes[tag] for *_, tag in expected)
            == sum(len(bytes(p)) for p in found.parts)
        )
        assert found.next_offset == (sum(expected[-1][:2]) if expected else start)

    simulate(body)


async def _rows(rig: Rig) -> list[BatchRow]:
    return [row for entry in await rig.wal_entries() for row in entry.rows]


@simulated
async def test_sequential_reader_gets_every_batch_once_at_any_step_size(rig: Rig) -> None:
    opened = await _filled(rig, [1, 2, 3] * 20, 1, tail_cache_bytes_max=500, index_cache_bytes_max=3_500)
    for max_bytes in (1, 150, 5_000):
        seen: list[str] = []
        offset = 0
        while offset < 120:
            found = await opened.log.read(ONE, offset, max_bytes)
            seen.extend(tag for _, _, tag in read_tags(found.parts))
            offset = found.next_offset
        assert seen == [f"{number}" for number in range(60)]


@simulated
async def test_cached_entry_of_a_deleted_object_is_looked_up_again(rig: Rig) -> None:
    ours = await _filled(rig, [1] * 4, 1, tail_cache_bytes_max=0, wal_gc_grace_ms=0)
    await ours.tags()
    other = await rig.open("b", wal_gc_grace_ms=0)
    late = await rig.open("late", tail_cache_bytes_max=0)
    late.link.faults["changes"] = "refuse"
    await late.log.read(ONE, 3, 1)
    domain = late.log._domains[0]
    cached = await domain.reader.entry_at(ONE, 0)
    await other.log.trim(ONE, 2)
    await WalSweep(rig.meta, other.objects, DOMAIN, rig.clock, 1 << 40).run()
    assert cached.path not in rig.paths()
    with pytest.raises(OffsetOutOfRange):
        await domain.reader.locate(ONE, 0)
    _, opened = await domain.reader.locate(ONE, 2)
    assert opened.start_offset == 2


@simulated
async def test_detached_slice_does_not_keep_a_large_chunk_alive(rig: Rig) -> None:
    opened = await rig.open(tail_cache_bytes_max=0)
    promises = [await opened.send(f"{number:0200}", ONE) for number in range(600)]
    await outcomes(*promises)
    found = await opened.log.read(ONE, 300, 1)
    detach_buffers([found])
    assert [tag for *_, tag in read_tags(found.parts)] == [f"{300:0200}"]
    assert sum(memoryview(memoryview(part).obj).nbytes for part in found.parts) < 1_000
    whole = await opened.log.read(ONE, 0, 1 << 20)
    detach_buffers([whole])
    assert sum(isinstance(part, memoryview) for part in whole.parts) == 600, "most of the chunk: not copied"


@simulated
async def test_bytes_of_concurrent_reads_are_bounded(rig: Rig) -> None:
    opened = await rig.open(
        tail_cache_bytes_max=0, read_in_flight_bytes_max=1, range_cache_bytes_max=0, readahead_chunks=0
    )
    for number in range(4):
        await opened.append(f"{number}")
    opened.objects.read_seconds = 1.0
    reads = [asyncio.create_task(opened.log.read(ONE, offset, 1)) for offset in range(4)]
    tags = [[tag for *_, tag in read_tags((await read).parts)] for read in reads]
    assert tags == [["0"], ["1"], ["2"], ["3"]]
    assert opened.objects.reading_max == 1, "one is admitted, however large; the others wait"
