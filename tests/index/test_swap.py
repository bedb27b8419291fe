"""Plan of a swap: files replace the entries that they were made from."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.ids import FileId
from dray.index import (
    FileRef,
    GroupRow,
    GroupRows,
    IndexEntry,
    StreamHead,
    SwapImpossible,
    assign,
    pack_groups,
    plan_swap,
    raised,
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


def _file(number: int, replaced: list[IndexEntry]) -> FileRef:
    return FileRef(
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


def test_file_replaces_its_entries() -> None:
    entries = _entries([3, 4, 5])
    swap = plan_swap(STREAM, [_file(1, entries)], entries)
    assert swap.removed == entries
    assert swap.unwanted == []
    (added,) = swap.added
    assert (added.start_offset, added.end_offset, added.record_count) == (0, 12, 12)
    assert added.cumulative_size == entries[-1].cumulative_size
    assert added.running_max_timestamp_ms == entries[-1].running_max_timestamp_ms
    assert added.created_at_ms == entries[-1].created_at_ms


def test_file_with_a_later_time_raises_the_running_maximum_of_what_follows() -> None:
    entries = _entries([3, 4, 5, 6, 7])
    late, other = _file(1, entries[1:2]), _file(2, entries[3:4])
    late = msgspec.structs.replace(late, max_timestamp_ms=1_003)
    swap = plan_swap(STREAM, [late, other], entries[1:4])
    assert swap.is_raising
    corrected = raised([*swap.added, *entries[2:3], *entries[4:]])
    assert corrected == [msgspec.structs.replace(entries[2], running_max_timestamp_ms=1_003)]
    running = [entry.running_max_timestamp_ms for entry in swap.added]
    assert running == [1_003, 1_003]
    assert not plan_swap(STREAM, [_file(1, entries)], entries).is_raising


def test_file_whose_first_entries_were_trimmed_replaces_the_rest() -> None:
    entries = _entries([3, 4, 5])
    swap = plan_swap(STREAM, [_file(1, entries)], entries[2:])
    assert swap.removed == entries[2:]
    assert [entry.start_offset for entry in swap.added] == [0]


def test_fully_trimmed_file_is_not_swapped_in() -> None:
    entries = _entries([3, 4, 5])
    files = [_file(1, entries[:2]), _file(2, entries[2:])]
    swap = plan_swap(STREAM, files, entries[2:])
    assert swap.unwanted == files[:1]
    assert [entry.path for entry in swap.added] == ["2.parquet"]


def test_file_may_begin_inside_its_first_entry() -> None:
    entries = _entries([3, 4])
    later = msgspec.structs.replace(_file(1, entries), start_offset=2)
    swap = plan_swap(STREAM, [later], entries)
    assert swap.removed == entries
    assert [(entry.start_offset, entry.end_offset) for entry in swap.added] == [(2, 7)]


@pytest.mark.parametrize(
    ("made_from", "found"),
    [
        (slice(0, 2), slice(0, 3)),  # an entry after the file
        (slice(0, 3), slice(0, 2)),  # the last entry is missing
        (slice(1, 3), slice(0, 3)),  # an entry before the file
    ],
)
def test_entries_outside_the_file_make_a_swap_impossible(made_from: slice, found: slice) -> None:
    entries = _entries([3, 4, 5])
    with pytest.raises(SwapImpossible):
        plan_swap(STREAM, [_file(1, entries[made_from])], entries[found])


def test_hole_between_entries_makes_a_swap_impossible() -> None:
    entries = _entries([3, 4, 5])
    with pytest.raises(SwapImpossible):
        plan_swap(STREAM, [_file(1, entries)], [entries[0], entries[2]])


def test_entries_between_two_files_are_kept() -> None:
    entries = _entries([3, 4, 5, 6])
    files = [_file(1, entries[:1]), _file(2, entries[2:3])]
    swap = plan_swap(STREAM, files, entries[:3])
    assert swap.removed == [entries[0], entries[2]]
    assert [entry.start_offset for entry in swap.added] == [0, 7]
    trimmed = plan_swap(STREAM, files, entries[1:3])
    assert (trimmed.removed, trimmed.unwanted) == ([entries[2]], files[:1])


def test_ingested_bytes_are_proportional_to_the_records_kept() -> None:
    entries = _entries([3, 7])
    ingested_bytes = sum(entry.ingested_bytes for entry in entries)
    for kept, share in ((10, ingested_bytes), (4, ingested_bytes * 4 // 10), (0, 0)):
        file = msgspec.structs.replace(_file(1, entries), record_count=kept)
        (added,) = plan_swap(STREAM, [file], entries).added
        assert (added.ingested_bytes, added.cumulative_size) == (share, entries[-1].cumulative_size)


@given(counts=st.lists(st.integers(1, 9), min_size=1, max_size=12), data=st.data())
def test_offsets_that_were_not_trimmed_stay_covered(counts: list[int], data: st.DataObject) -> None:
    entries = _entries(counts)
    cut = sorted(data.draw(st.sets(st.integers(1, len(entries)))) | {len(entries)})
    files = [_file(at, entries[start:at]) for start, at in zip([0, *cut], cut, strict=False)]
    trimmed = data.draw(st.integers(0, len(entries)))
    swap = plan_swap(STREAM, files, entries[trimmed:])
    covered = {offset for entry in swap.added for offset in range(entry.start_offset, entry.end_offset)}
    assert {
        offset for entry in entries[trimmed:] for offset in range(entry.start_offset, entry.end_offset)
    } <= covered
    assert len(swap.added) + len(swap.unwanted) == len(files)
    assert swap.removed == entries[trimmed:]


def test_covering_finds_the_row_group_of_an_offset() -> None:
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
