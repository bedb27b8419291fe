"""Packing of entry ranges into tasks: every offset once, in tasks of bounded size."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dray.ids import StreamId
from dray.index import GroupRow, IndexEntry, ParquetEntry, pack_groups
from dray.scan.ranges import EntryRange, OffsetRange, ranges_of
from dray.spark.source.tasks import REQUEST_BYTES, TaskSizes, packed
from tests.compaction.builders import STREAM, parquet_entry, wal_entry

MIB = 1 << 20


def _file(start: int, groups: int, *, each: int = 10, group_bytes: int = MIB) -> ParquetEntry:
    rows = [
        GroupRow(number * each, number * each + each - 1, 4 + number * group_bytes, group_bytes, each, 0, 0)
        for number in range(groups)
    ]
    entry = parquet_entry(start, start + groups * each, size_bytes=groups * group_bytes + 10)
    return msgspec.structs.replace(entry, packed_groups=pack_groups(rows))


def _whole(entry: IndexEntry, partition: int = 0) -> EntryRange:
    return EntryRange(partition, entry, entry.start_offset, entry.end_offset)


def _ranges(tasks: list[tuple[EntryRange, ...]]) -> list[list[tuple[int, int]]]:
    return [[(one.first_offset, one.end_offset) for one in task] for task in tasks]


def test_no_ranges_need_no_task() -> None:
    assert packed([], TaskSizes(MIB, 4)) == []


def test_small_ranges_are_combined() -> None:
    entry_ranges = [_whole(wal_entry(number * 10, number * 10 + 10)) for number in range(6)]
    tasks = packed(entry_ranges, TaskSizes(4 * REQUEST_BYTES, 1))
    assert _ranges(tasks) == [[(0, 10), (10, 20), (20, 30), (30, 40)], [(40, 50), (50, 60)]]


def test_large_file_is_split_between_row_groups() -> None:
    assert _ranges(packed([_whole(_file(0, 5))], TaskSizes(2 * MIB, 1))) == [
        [(0, 20)],
        [(20, 40)],
        [(40, 50)],
    ]


def test_row_groups_outside_the_range_are_skipped() -> None:
    assert _ranges(packed([EntryRange(0, _file(0, 5), 15, 32)], TaskSizes(64 * MIB, 1))) == [[(15, 32)]]
    assert _ranges(packed([EntryRange(0, _file(0, 5), 15, 32)], TaskSizes(MIB, 1))) == [
        [(15, 20)],
        [(20, 30)],
        [(30, 32)],
    ]


def test_minimum_number_of_tasks_is_reached_if_there_are_enough_row_groups() -> None:
    assert len(packed([_whole(_file(0, 12))], TaskSizes(64 * MIB, 4))) == 4
    assert len(packed([_whole(_file(0, 3))], TaskSizes(64 * MIB, 8))) == 3


def test_file_counts_for_the_size_of_its_records_as_produced() -> None:
    small = msgspec.structs.replace(_file(0, 4, group_bytes=1_000), ingested_bytes=4 * MIB)
    assert _ranges(packed([_whole(small)], TaskSizes(2 * MIB, 1))) == [[(0, 20)], [(20, 40)]]


def test_file_without_rows_needs_no_task() -> None:
    assert packed([_whole(parquet_entry(0, 7))], TaskSizes(MIB, 1)) == []


def test_ranges_of_adjacent_entries_are_merged() -> None:
    two = [_whole(wal_entry(0, 10)), _whole(wal_entry(10, 20)), EntryRange(0, wal_entry(20, 40), 25, 40)]
    assert ranges_of(two) == [OffsetRange(0, StreamId(7), 0, 20), OffsetRange(0, StreamId(7), 25, 40)]


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 5), st.integers(1, 3 * MIB)), max_size=12),
    st.integers(1, 8 * MIB),
    st.integers(1, 20),
)
def test_every_offset_is_in_exactly_one_task(
    made: list[tuple[bool, int, int]], bytes_max: int, tasks_min: int
) -> None:
    entry_ranges, at = [], 0
    for parquet, count, size in made:
        entry: IndexEntry
        entry = _file(at, count, group_bytes=size) if parquet else wal_entry(at, at + count, size_bytes=size)
        entry_ranges.append(_whole(entry))
        at = entry.end_offset
    tasks = packed(entry_ranges, TaskSizes(bytes_max, tasks_min))
    assert all(tasks)
    covered = [(one.first_offset, one.end_offset) for task in tasks for one in task]
    assert [end for _, end in covered[:-1]] == [first for first, _ in covered[1:]]
    assert ranges_of([one for task in tasks for one in task]) == (
        [OffsetRange(0, STREAM, 0, at)] if made else []
    )
