"""Which ranges are compacted and merged, and which are left alone."""

from hypothesis import given
from hypothesis import strategies as st

from dray.index import IndexEntry, ParquetEntry
from dray.pipeline.plan import Span, merge_spans, wal_spans, wants_snapshot
from dray.pipeline.settings import CompactionSettings
from tests.pipeline.builders import head_over, parquet_entry, wal_entry

SETTINGS = CompactionSettings(
    wal_age_ms_max=1_000,
    wal_bytes_max=1_000,
    wal_entries_max=5,
    file_bytes=1_000,
    entries_per_file_max=4,
    merge_files_min=3,
)
YOUNG, OLD = 999, 1_000


def _ranges(spans: list[Span]) -> list[tuple[int, int]]:
    return [(span.start_offset, span.end_offset) for span in spans]


def _wal(count: int, **made: int) -> list[IndexEntry]:
    return [wal_entry(number * 10, number * 10 + 10, **made) for number in range(count)]


def _files(*sizes: int) -> list[IndexEntry]:
    return [
        parquet_entry(number * 10, number * 10 + 10, size_bytes=size) for number, size in enumerate(sizes)
    ]


def test_young_small_and_few_ranges_wait() -> None:
    entries = _wal(4)
    assert wal_spans(head_over(entries), entries, SETTINGS, YOUNG) == []


def test_an_old_range_is_due() -> None:
    entries = _wal(3)
    assert _ranges(wal_spans(head_over(entries), entries, SETTINGS, OLD)) == [(0, 30)]


def test_many_entries_are_due_and_cut_by_their_number() -> None:
    entries = _wal(5)
    assert _ranges(wal_spans(head_over(entries), entries, SETTINGS, YOUNG)) == [(0, 40), (40, 50)]


def test_many_bytes_are_due_and_cut_by_their_size() -> None:
    entries = _wal(3, size_bytes=400)
    assert _ranges(wal_spans(head_over(entries), entries, SETTINGS, YOUNG)) == [(0, 20), (20, 30)]


def test_an_entry_larger_than_a_file_gets_one_of_its_own() -> None:
    entries = _wal(2, size_bytes=5_000)
    assert _ranges(wal_spans(head_over(entries), entries, SETTINGS, YOUNG)) == [(0, 10), (10, 20)]


def test_what_lies_behind_the_producer_snapshot_is_left_alone() -> None:
    entries = _wal(3)
    head = head_over(entries, snapshot_end=25)
    assert _ranges(wal_spans(head, entries, SETTINGS, OLD)) == [(0, 20)]
    assert wants_snapshot(head, entries, SETTINGS, OLD)
    assert not wants_snapshot(head, entries, SETTINGS, YOUNG)
    assert not wants_snapshot(head_over(entries), entries, SETTINGS, OLD)


def test_rows_before_the_start_of_the_log_are_not_kept() -> None:
    entries = _wal(2)
    (span,) = wal_spans(head_over(entries, log_start=5), entries, SETTINGS, OLD)
    assert (span.start_offset, span.first_offset) == (0, 5)


def test_files_between_wal_ranges_part_them() -> None:
    entries: list[IndexEntry] = [wal_entry(0, 10), parquet_entry(10, 20), wal_entry(20, 30)]
    assert _ranges(wal_spans(head_over(entries), entries, SETTINGS, OLD)) == [(0, 10), (20, 30)]


def test_few_small_files_are_not_merged() -> None:
    entries = _files(10, 10)
    assert merge_spans(head_over(entries), entries, SETTINGS) == []


def test_enough_small_neighbours_are_merged() -> None:
    entries = _files(900, 10, 12, 11, 900)
    assert _ranges(merge_spans(head_over(entries), entries, SETTINGS)) == [(10, 40)]


def test_large_files_part_small_ones() -> None:
    entries = _files(10, 10, 900, 10, 10)
    assert merge_spans(head_over(entries), entries, SETTINGS) == []


def test_a_file_that_begins_before_the_log_is_written_anew() -> None:
    entries = _files(900, 900)
    (span,) = merge_spans(head_over(entries, log_start=3), entries, SETTINGS)
    assert (span.start_offset, span.end_offset, span.first_offset) == (0, 10, 3)


@given(st.lists(st.integers(1, 400), min_size=1, max_size=120))
def test_merging_comes_to_an_end_with_few_files_and_little_rewriting(sizes: list[int]) -> None:
    """Files arrive one by one; each record is rewritten at most once a size class."""
    files: list[IndexEntry] = []
    rewritten = 0
    for number, size in enumerate(sizes):
        files.append(parquet_entry(number * 10, number * 10 + 10, size_bytes=size))
        while spans := merge_spans(head_over(files), files, SETTINGS):
            for span in spans:
                merged = sum(file.size_bytes for file in span.entries if isinstance(file, ParquetEntry))
                rewritten += merged
                assert merged <= SETTINGS.file_bytes
                at = files.index(span.entries[0])
                files[at : at + len(span.entries)] = [
                    parquet_entry(span.start_offset, span.end_offset, size_bytes=merged)
                ]
    assert [file.end_offset for file in files[:-1]] == [file.start_offset for file in files[1:]]
    small = [file for file in files if isinstance(file, ParquetEntry) and file.size_bytes <= 500]
    assert len(small) <= 2 * (len(files) - len(small) + 1)
    assert rewritten <= 7 * sum(sizes)
