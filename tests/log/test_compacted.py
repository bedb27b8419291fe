"""Compacted streams: they read the same before and after their records moved to Parquet files."""

import pytest

from dray.index import ParquetEntry
from dray.log import LogDamaged, OffsetOutOfRange
from dray.meta.port import ABSENT, Check, Put
from tests.log.builders import ONE, TWO, Rig, simulated
from tests.log.compacting import TOPIC, compact, records, swap, swapper, written


@simulated
async def test_stream_reads_the_same_after_compaction(rig: Rig) -> None:
    opened = await rig.open()
    for number in range(5):
        await opened.append(f"r{number}", records=3)
    before = await records(opened)
    await compact(rig)
    assert [type(entry) for entry in await rig.entries()] == [ParquetEntry]
    fresh = await rig.open("b")
    assert await records(fresh) == before
    for offset in range(15):
        assert await records(fresh, offset=offset) == before[offset:]


@simulated
async def test_reader_with_stale_entries_finds_the_files(rig: Rig) -> None:
    opened = await rig.open(tail_cache_bytes_max=0, range_cache_bytes_max=0)
    for number in range(4):
        await opened.append(f"r{number}")
    before = await records(opened)
    old = rig.paths()
    await compact(rig)
    for path in old:
        rig.bucket.delete(path)
    assert await records(opened) == before


@simulated
async def test_records_after_the_files_are_read_from_the_wal(rig: Rig) -> None:
    opened = await rig.open()
    for number in range(4):
        await opened.append(f"r{number}")
    await compact(rig, until=2)
    fresh = await rig.open("b")
    await fresh.append("last")
    assert [record.value for record in await records(fresh)] == [b"r0", b"r1", b"r2", b"r3", b"last"]


@simulated
async def test_files_are_merged_into_one(rig: Rig) -> None:
    opened = await rig.open()
    for number in range(4):
        await opened.append(f"r{number}")
    entries = await rig.entries()
    assert await swap(rig, [written(rig, entries[:2], 1), written(rig, entries[2:], 2)])
    await compact(rig, number=3)
    assert [entry.path for entry in await rig.entries()] == ["compaction/v1/3.parquet"]
    fresh = await rig.open("b")
    assert [record.value for record in await records(fresh)] == [b"r0", b"r1", b"r2", b"r3"]


@simulated
async def test_object_is_released_when_its_last_stream_is_compacted(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("a", ONE)
    both = [await opened.send("b", ONE), await opened.send("c", TWO)]
    for promise in both:
        await promise
    await compact(rig, ONE, number=1)
    assert sum(one.references for one in await rig.committed()) == 1
    await compact(rig, TWO, number=2)
    assert await rig.committed() == []
    assert len(await rig.pending_deletion()) == 2


@simulated
async def test_swap_is_idempotent(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("a")
    place = written(rig, await rig.entries(), 1)
    step = (Check("/dray/v1/compaction/jobs/x", ABSENT), Put("/dray/v1/compaction/jobs/x", b""))
    assert await swapper(rig).swap(ONE, [place], TOPIC, step)
    again = await rig.entries()
    assert not await swapper(rig).swap(ONE, [place], TOPIC, step)
    assert await rig.entries() == again


@simulated
async def test_swap_keeps_a_concurrent_trim(rig: Rig) -> None:
    opened = await rig.open()
    for number in range(4):
        await opened.append(f"r{number}")
    place = written(rig, await rig.entries(), 1)
    await opened.log.trim(ONE, 3)
    assert await swap(rig, [place])
    fresh = await rig.open("b")
    assert [record.offset for record in await records(fresh, offset=3)] == [3]
    with pytest.raises(OffsetOutOfRange):
        await records(fresh, offset=2)


@simulated
async def test_trim_marks_a_file_for_deletion(rig: Rig) -> None:
    opened = await rig.open()
    for number in range(4):
        await opened.append(f"r{number}")
    await compact(rig)
    await opened.log.trim(ONE, 4)
    assert await rig.entries() == []
    (mark,) = await rig.marks()
    assert mark.path == "compaction/v1/1.parquet"
    assert mark.in_table


@simulated
async def test_offsets_are_found_by_time_in_files(rig: Rig) -> None:
    opened = await rig.open()
    times = []
    for number in range(6):
        times.append(rig.clock.now_ms())
        await opened.append(f"r{number}")
        await rig.settle(10)
    await compact(rig)
    fresh = await rig.open("b")
    for number, time_ms in enumerate(times):
        found = await fresh.log.find_time(ONE, time_ms)
        assert found is not None
        assert (found.offset, found.timestamp_ms) == (number, time_ms)
    newest = await fresh.log.find_newest(ONE)
    assert newest is not None
    assert newest.offset == 5


@simulated
async def test_damaged_file_raises_log_damaged(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("a")
    place = await compact(rig)
    damaged = bytearray(rig.bucket.get(place.path))
    damaged[-20] ^= 0xFF
    rig.bucket.delete(place.path)
    rig.bucket.put_new(place.path, [bytes(damaged)])
    fresh = await rig.open("b")
    with pytest.raises(LogDamaged, match=r"compaction/v1/1\.parquet"):
        await records(fresh)
