"""Prefetch of row groups: a sequential reader finds the next one ready, and each is encoded once."""

from dray.index import ParquetEntry
from tests.log.builders import ONE, OpenLog, Rig, simulated
from tests.log.compacting import swap, written

GROUPS = 12


async def _file_of_many_groups(rig: Rig) -> ParquetEntry:
    """Write a file in which each record is a row group."""
    writer = await rig.open()
    for number in range(GROUPS):
        await writer.append(f"r{number}")
    assert await swap(rig, [written(rig, await rig.entries(), 1, group_bytes=1)])
    (entry,) = await rig.entries()
    assert isinstance(entry, ParquetEntry)
    assert len(entry.groups) == GROUPS
    return entry


def _groups_read(reader: OpenLog, entry: ParquetEntry) -> list[int]:
    positions = [group.position for group in entry.groups]
    starts = [wanted.start for path, wanted in reader.objects.reads if path == entry.path]
    return [positions.index(start) for start in starts if start in positions]


@simulated
async def test_each_row_group_is_encoded_once_despite_a_small_cache(rig: Rig) -> None:
    entry = await _file_of_many_groups(rig)
    reader = await rig.open("b", readahead_chunks=4, range_cache_bytes_max=0, parquet_cache_bytes_max=400)
    for offset in range(GROUPS):
        assert (await reader.log.read(ONE, offset, 1)).next_offset == offset + 1
        await rig.settle(0.1)
    assert sorted(_groups_read(reader, entry)) == list(range(GROUPS))


@simulated
async def test_next_row_group_is_prefetched_after_a_read_and_after_a_cache_hit(rig: Rig) -> None:
    entry = await _file_of_many_groups(rig)
    reader = await rig.open("b")
    chunks = reader.log._domains[0].reader._chunks
    await chunks.open(entry, 0)
    await rig.settle(0.1)
    assert sorted(_groups_read(reader, entry)) == [0, 1]
    assert chunks.cached(entry, 1) is not None
    await rig.settle(0.1)
    assert sorted(_groups_read(reader, entry)) == [0, 1, 2]
