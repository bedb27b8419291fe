"""Who reads on through a Parquet file finds the next row group at hand, and each group is made once."""

from dray.index import ParquetEntry
from tests.log.builders import ONE, OpenLog, Rig, simulated
from tests.log.compacting import swap, written

GROUPS = 12


async def _file_of_many_groups(rig: Rig) -> ParquetEntry:
    """Each record is a group of its own."""
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
async def test_no_group_is_made_twice_however_few_are_kept(rig: Rig) -> None:
    entry = await _file_of_many_groups(rig)
    reader = await rig.open("b", readahead_chunks=4, range_cache_bytes_max=0, parquet_cache_bytes_max=400)
    for offset in range(GROUPS):
        assert (await reader.log.read(ONE, offset, 1)).next_offset == offset + 1
        await rig.settle(0.1)
    assert sorted(_groups_read(reader, entry)) == list(range(GROUPS))


@simulated
async def test_the_next_group_is_on_its_way_whether_this_one_was_waited_for_or_at_hand(rig: Rig) -> None:
    entry = await _file_of_many_groups(rig)
    reader = await rig.open("b")
    chunks = reader.log._domains[0].reader._chunks
    await chunks.open(entry, 0)
    await rig.settle(0.1)
    assert sorted(_groups_read(reader, entry)) == [0, 1]
    assert chunks.at_hand(entry, 1) is not None
    await rig.settle(0.1)
    assert sorted(_groups_read(reader, entry)) == [0, 1, 2]
