"""The swap's plan: files take the places of the entries they were made from."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.ids import FileId
from dray.index import (
    FilePlace,
    GroupRow,
    GroupRows,
    IndexEntry,
    StreamHead,
    SwapImpossible,
    assign,
    pack_groups,
    plan_swap,
)
from tests.index.builders import STREAM, chunk, draft


def _entries(counts: list[int]) -> list[IndexEntry]:
    head = StreamHead()
    entries: list[IndexEntry] = []
    for number, count in enumerate(counts):
        head, entry = assign(
            head, chunk(number), [draft(count, time_ms=1_000 + number)], created_at_ms=number
        )
        entries.append(entry)
    return entries


def _file(number: int, replaced: list[IndexEntry]) -> FilePlace:
    return FilePlace(
        file_id=FileId(number.to_bytes(16, "big")),
        path=f"{number}.parquet",
        size_bytes=10,
        footer_bytes=5,
        footer_crc=0,
        start_offset=replaced[0].start_offset,
        end_offset=replaced[-1].end_offset,
        record_count=replaced[-1].end_offset - replaced[0].start_offset,
        min_timestamp_ms=min(entry.min_timestamp_ms for entry in replaced),
        max_timestamp_ms=max(entry.max_timestamp_ms for entry in replaced),
        packed_groups=b"",
    )


def test_a_file_takes_the_place_of_its_entries() -> None:
    entries = _entries([3, 4, 5])
    swap = plan_swap(STREAM, [_file(1, entries)], entries)
    assert swap.removed == entries
    assert swap.unwanted == []
    (added,) = swap.added
    assert (added.start_offset, added.end_offset, added.record_count) == (0, 12, 12)
    assert added.cumulative_size == entries[-1].cumulative_size
    assert added.running_max_timestamp_ms == entries[-1].running_max_timestamp_ms
    assert added.created_at_ms == entries[-1].created_at_ms


def test_a_file_whose_first_entries_were_given_up_takes_the_place_of_the_rest() -> None:
    entries = _entries([3, 4, 5])
    swap = plan_swap(STREAM, [_file(1, entries)], entries[2:])
    assert swap.removed == entries[2:]
    assert [entry.start_offset for entry in swap.added] == [0]


def test_a_file_whose_entries_were_all_given_up_is_unwanted() -> None:
    entries = _entries([3, 4, 5])
    files = [_file(1, entries[:2]), _file(2, entries[2:])]
    swap = plan_swap(STREAM, files, entries[2:])
    assert swap.unwanted == files[:1]
    assert [entry.path for entry in swap.added] == ["2.parquet"]


def test_a_file_may_begin_inside_its_first_entry() -> None:
    entries = _entries([3, 4])
    later = msgspec.structs.replace(_file(1, entries), start_offset=2)
    swap = plan_swap(STREAM, [later], entries)
    assert swap.removed == entries
    assert [(entry.start_offset, entry.end_offset) for entry in swap.added] == [(2, 7)]


@pytest.mark.parametrize(
    ("made_from", "there"),
    [
        (slice(0, 2), slice(0, 3)),  # an entry behind the file
        (slice(0, 3), slice(0, 2)),  # the last entry is missing
        (slice(1, 3), slice(0, 3)),  # an entry before the file
    ],
)
def test_what_does_not_fit_is_not_swapped(made_from: slice, there: slice) -> None:
    entries = _entries([3, 4, 5])
    with pytest.raises(SwapImpossible):
        plan_swap(STREAM, [_file(1, entries[made_from])], entries[there])


def test_a_hole_between_the_entries_is_not_swapped() -> None:
    entries = _entries([3, 4, 5])
    with pytest.raises(SwapImpossible):
        plan_swap(STREAM, [_file(1, entries)], [entries[0], entries[2]])


def test_what_lies_between_two_files_is_left_as_it_is() -> None:
    entries = _entries([3, 4, 5, 6])
    files = [_file(1, entries[:1]), _file(2, entries[2:3])]
    swap = plan_swap(STREAM, files, entries[:3])
    assert swap.removed == [entries[0], entries[2]]
    assert [entry.start_offset for entry in swap.added] == [0, 7]
    trimmed = plan_swap(STREAM, files, entries[1:3])
    assert (trimmed.removed, trimmed.unwanted) == ([entries[2]], files[:1])


def test_where_records_were_left_out_the_others_count_by_their_share() -> None:
    entries = _entries([3, 7])
    came_bytes = sum(entry.came_bytes for entry in entries)
    for left, share in ((10, came_bytes), (4, came_bytes * 4 // 10), (0, 0)):
        file = msgspec.structs.replace(_file(1, entries), record_count=left)
        (added,) = plan_swap(STREAM, [file], entries).added
        assert (added.came_bytes, added.cumulative_size) == (share, entries[-1].cumulative_size)


@given(counts=st.lists(st.integers(1, 9), min_size=1, max_size=12), data=st.data())
def test_whatever_is_left_stays_covered(counts: list[int], data: st.DataObject) -> None:
    entries = _entries(counts)
    cut = sorted(data.draw(st.sets(st.integers(1, len(entries)))) | {len(entries)})
    files = [_file(at, entries[start:at]) for start, at in zip([0, *cut], cut, strict=False)]
    gone = data.draw(st.integers(0, len(entries)))
    swap = plan_swap(STREAM, files, entries[gone:])
    covered = {offset for entry in swap.added for offset in range(entry.start_offset, entry.end_offset)}
    assert {
        offset for entry in entries[gone:] for offset in range(entry.start_offset, entry.end_offset)
    } <= covered
    assert len(swap.added) + len(swap.unwanted) == len(files)
    assert swap.removed == entries[gone:]


def test_groups_are_found_by_what_they_cover() -> None:
    rows = [
        GroupRow(0, 4, 4, 10, 5, 1, 2),
        GroupRow(8, 9, 14, 10, 2, 1, 2),
        GroupRow(20, 30, 24, 10, 3, 1, 2),
    ]
    groups = GroupRows(pack_groups(rows))
    assert list(groups) == rows
    assert [groups.covering(delta) for delta in (0, 4, 7, 8, 19, 20, 99)] == [0, 0, 0, 1, 1, 2, 2]
    with pytest.raises(IndexError):
        groups[3]
