"""Stretches become tasks: none lost, none doubled, none too large."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dray.ids import StreamId
from dray.index import GroupRow, IndexEntry, ParquetEntry, pack_groups
from dray.pipeline.reading.stretches import Stretch, Wanted, ranges_of
from dray.pipeline.spark.source.plan import (
    REQUEST_BYTES,
    Portions,
    gathered,
)
from tests.pipeline.builders import STREAM, parquet_entry, wal_entry

MIB = 1 << 20


def _file(start: int, groups: int, *, each: int = 10, group_bytes: int = MIB) -> ParquetEntry:
    rows = [
        GroupRow(number * each, number * each + each - 1, 4 + number * group_bytes, group_bytes, each, 0, 0)
        for number in range(groups)
    ]
    entry = parquet_entry(start, start + groups * each, size_bytes=groups * group_bytes + 10)
    return msgspec.structs.replace(entry, packed_groups=pack_groups(rows))


def _stretch(entry: IndexEntry, partition: int = 0) -> Stretch:
    return Stretch(partition, entry, entry.start_offset, entry.end_offset)


def _ranges(tasks: list[tuple[Stretch, ...]]) -> list[list[tuple[int, int]]]:
    return [[(one.first_offset, one.end_offset) for one in task] for task in tasks]


def test_nothing_needs_no_task() -> None:
    assert gathered([], Portions(MIB, 4)) == []


def test_small_ranges_are_gathered() -> None:
    stretches = [_stretch(wal_entry(number * 10, number * 10 + 10)) for number in range(6)]
    tasks = gathered(stretches, Portions(4 * REQUEST_BYTES, 1))
    assert _ranges(tasks) == [[(0, 10), (10, 20), (20, 30), (30, 40)], [(40, 50), (50, 60)]]


def test_a_large_file_is_cut_between_its_groups() -> None:
    assert _ranges(gathered([_stretch(_file(0, 5))], Portions(2 * MIB, 1))) == [
        [(0, 20)],
        [(20, 40)],
        [(40, 50)],
    ]


def test_groups_that_are_not_wanted_are_left_out() -> None:
    assert _ranges(gathered([Stretch(0, _file(0, 5), 15, 32)], Portions(64 * MIB, 1))) == [[(15, 32)]]
    assert _ranges(gathered([Stretch(0, _file(0, 5), 15, 32)], Portions(MIB, 1))) == [
        [(15, 20)],
        [(20, 30)],
        [(30, 32)],
    ]


def test_there_are_as_many_tasks_as_asked_for_if_there_is_enough() -> None:
    assert len(gathered([_stretch(_file(0, 12))], Portions(64 * MIB, 4))) == 4
    assert len(gathered([_stretch(_file(0, 3))], Portions(64 * MIB, 8))) == 3


def test_a_file_counts_for_what_its_records_took_when_they_came() -> None:
    small = msgspec.structs.replace(_file(0, 4, group_bytes=1_000), came_bytes=4 * MIB)
    assert _ranges(gathered([_stretch(small)], Portions(2 * MIB, 1))) == [[(0, 20)], [(20, 40)]]


def test_a_file_without_rows_needs_no_task() -> None:
    assert gathered([_stretch(parquet_entry(0, 7))], Portions(MIB, 1)) == []


def test_what_is_left_is_told_as_ranges() -> None:
    two = [_stretch(wal_entry(0, 10)), _stretch(wal_entry(10, 20)), Stretch(0, wal_entry(20, 40), 25, 40)]
    assert ranges_of(two) == [Wanted(0, StreamId(7), 0, 20), Wanted(0, StreamId(7), 25, 40)]


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 5), st.integers(1, 3 * MIB)), max_size=12),
    st.integers(1, 8 * MIB),
    st.integers(1, 20),
)
def test_every_offset_is_in_one_task(
    made: list[tuple[bool, int, int]], bytes_max: int, tasks_min: int
) -> None:
    stretches, at = [], 0
    for parquet, count, size in made:
        entry: IndexEntry
        entry = _file(at, count, group_bytes=size) if parquet else wal_entry(at, at + count, size_bytes=size)
        stretches.append(_stretch(entry))
        at = entry.end_offset
    tasks = gathered(stretches, Portions(bytes_max, tasks_min))
    assert all(tasks)
    covered = [(one.first_offset, one.end_offset) for task in tasks for one in task]
    assert [end for _, end in covered[:-1]] == [first for first, _ in covered[1:]]
    assert ranges_of([one for task in tasks for one in task]) == ([Wanted(0, STREAM, 0, at)] if made else [])
