"""Which ranges are compacted and merged, and which are left alone."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cluster.configs import TopicConfig
from dray.index import IndexEntry, ParquetEntry
from dray.pipeline.plan import ANY_GRAIN, Grain, Span, grain_of, merge_spans, wal_spans, wants_snapshot
from dray.pipeline.settings import CompactionSettings
from dray.sweep.plan import RetentionPolicy, retained_from
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
    assert wal_spans(head_over(entries), entries, SETTINGS, YOUNG, ANY_GRAIN) == []


def test_an_old_range_is_due() -> None:
    entries = _wal(3)
    assert _ranges(wal_spans(head_over(entries), entries, SETTINGS, OLD, ANY_GRAIN)) == [(0, 30)]


def test_many_entries_are_due_and_cut_by_their_number() -> None:
    entries = _wal(5)
    assert _ranges(wal_spans(head_over(entries), entries, SETTINGS, YOUNG, ANY_GRAIN)) == [(0, 40), (40, 50)]


def test_many_bytes_are_due_and_cut_by_their_size() -> None:
    entries = _wal(3, size_bytes=400)
    assert _ranges(wal_spans(head_over(entries), entries, SETTINGS, YOUNG, ANY_GRAIN)) == [(0, 20), (20, 30)]


def test_an_entry_larger_than_a_file_gets_one_of_its_own() -> None:
    entries = _wal(2, size_bytes=5_000)
    assert _ranges(wal_spans(head_over(entries), entries, SETTINGS, YOUNG, ANY_GRAIN)) == [(0, 10), (10, 20)]


def test_what_lies_behind_the_producer_snapshot_is_left_alone() -> None:
    entries = _wal(3)
    head = head_over(entries, snapshot_end=25)
    assert _ranges(wal_spans(head, entries, SETTINGS, OLD, ANY_GRAIN)) == [(0, 20)]
    assert wants_snapshot(head, entries, SETTINGS, OLD)
    assert not wants_snapshot(head, entries, SETTINGS, YOUNG)
    assert not wants_snapshot(head_over(entries), entries, SETTINGS, OLD)


def test_rows_before_the_start_of_the_log_are_not_kept() -> None:
    entries = _wal(2)
    (span,) = wal_spans(head_over(entries, log_start=5), entries, SETTINGS, OLD, ANY_GRAIN)
    assert (span.start_offset, span.first_offset) == (0, 5)


def test_files_between_wal_ranges_part_them() -> None:
    entries: list[IndexEntry] = [wal_entry(0, 10), parquet_entry(10, 20), wal_entry(20, 30)]
    assert _ranges(wal_spans(head_over(entries), entries, SETTINGS, OLD, ANY_GRAIN)) == [(0, 10), (20, 30)]


def test_few_small_files_are_not_merged() -> None:
    entries = _files(10, 10)
    assert merge_spans(head_over(entries), entries, SETTINGS, ANY_GRAIN) == []


def test_enough_small_neighbours_are_merged() -> None:
    entries = _files(900, 10, 12, 11, 900)
    assert _ranges(merge_spans(head_over(entries), entries, SETTINGS, ANY_GRAIN)) == [(10, 40)]


def test_large_files_part_small_ones() -> None:
    entries = _files(10, 10, 900, 10, 10)
    assert merge_spans(head_over(entries), entries, SETTINGS, ANY_GRAIN) == []


def test_a_file_that_begins_before_the_log_is_written_anew() -> None:
    entries = _files(900, 900)
    (span,) = merge_spans(head_over(entries, log_start=3), entries, SETTINGS, ANY_GRAIN)
    assert (span.start_offset, span.end_offset, span.first_offset) == (0, 10, 3)


def test_a_file_that_outweighs_the_others_is_left_alone() -> None:
    entries = [parquet_entry(at * 10, at * 10 + 10, came_bytes=came) for at, came in enumerate((90, 9, 9, 9))]
    assert _ranges(merge_spans(head_over(entries), entries, SETTINGS, ANY_GRAIN)) == [(10, 40)]
    assert merge_spans(head_over(entries[:3]), entries[:3], SETTINGS, ANY_GRAIN) == []


class Arrivals:
    """A stream whose files arrive one by one and are merged as planned; each has a footer of 20 bytes."""

    def __init__(self, grain: Grain = ANY_GRAIN, file_bytes: int = 1_000_000) -> None:
        self._grain = grain
        self._settings = CompactionSettings(file_bytes=file_bytes, merge_files_min=4)
        self.files: list[IndexEntry] = []
        self.rewrites: dict[IndexEntry, int] = {}
        self.rewritten = 0

    def arrive(self, came_bytes: int, newest_ms: int = 0) -> None:
        start = self.files[-1].end_offset if self.files else 0
        self._put(len(self.files), [], parquet(start, start + 10, came_bytes, newest_ms))
        while spans := merge_spans(head_over(self.files), self.files, self._settings, self._grain):
            for span in spans:
                came, newest = sum(one.came_bytes for one in span.entries), span.entries[-1]
                self.rewritten += came
                merged = parquet(span.start_offset, span.end_offset, came, newest.running_max_timestamp_ms)
                self._put(self.files.index(span.entries[0]), span.entries, merged)

    def _put(self, at: int, replaced: Sequence[IndexEntry], file: IndexEntry) -> None:
        self.rewrites[file] = 1 + max((self.rewrites.pop(one) for one in replaced), default=-1)
        self.files[at : at + len(replaced)] = [file]


def parquet(start: int, end: int, came_bytes: int, newest_ms: int) -> ParquetEntry:
    return parquet_entry(start, end, size_bytes=20 + came_bytes, came_bytes=came_bytes, newest_ms=newest_ms)


@given(st.lists(st.integers(1, 4), min_size=50, max_size=300))
def test_a_record_that_is_rewritten_comes_into_a_file_twice_as_large(sizes: list[int]) -> None:
    made = Arrivals()
    for size in sizes:
        made.arrive(size)
    assert sum(file.came_bytes for file in made.files) == sum(sizes)
    assert [file.end_offset for file in made.files[:-1]] == [file.start_offset for file in made.files[1:]]
    assert all(2**rewrites <= file.came_bytes for file, rewrites in made.rewrites.items())


@given(st.lists(st.integers(1, 400), min_size=50, max_size=300), st.integers(1, 50))
def test_files_are_rewritten_seldom_when_they_are_cut_at_full_size(sizes: list[int], per_step: int) -> None:
    made = Arrivals(Grain(ms=per_step), file_bytes=1_000)
    for at, size in enumerate(sizes):
        made.arrive(size, at)
    assert sum(file.came_bytes for file in made.files) == sum(sizes)
    assert [file.end_offset for file in made.files[:-1]] == [file.start_offset for file in made.files[1:]]
    assert all(file.stored_bytes <= 1_000 for file in made.files)
    assert max(made.rewrites.values()) <= 10  # doubled until full, then once when the step was over
    over = [file for file in made.files if file.running_max_timestamp_ms // per_step < len(sizes) // per_step]
    assert len(over) <= 2 * (sum(sizes) // 500 + len(sizes) // per_step + 1)


def test_a_slow_topic_has_few_files_and_is_seldom_rewritten() -> None:
    made = Arrivals()
    for _ in range(2_000):
        made.arrive(7)
    assert len(made.files) <= 20
    assert made.rewritten <= 11 * 7 * 2_000


def _by_time(count: int, every_ms: int = 40) -> list[IndexEntry]:
    return [parquet_entry(at * 10, at * 10 + 10, newest_ms=every_ms * at) for at in range(count)]


def test_files_keep_within_the_steps_of_retention() -> None:
    grain = Grain(ms=100)
    files = _by_time(9)
    assert _ranges(merge_spans(head_over(files), files, SETTINGS, grain)) == [(0, 30), (30, 50), (50, 80)]
    waiting = [wal_entry(at * 10, at * 10 + 10, newest_ms=40 * at) for at in range(4)]
    assert _ranges(wal_spans(head_over(waiting), waiting, SETTINGS, OLD, grain)) == [(0, 30), (30, 40)]
    by_size = Grain(size_bytes=250)  # each entry adds 100
    assert _ranges(wal_spans(head_over(waiting), waiting, SETTINGS, OLD, by_size)) == [(0, 20), (20, 40)]


def test_what_is_left_in_a_step_is_merged_when_it_is_over() -> None:
    grain = Grain(ms=100)
    first_step = [parquet_entry(0, 10, newest_ms=10, came_bytes=90), parquet_entry(10, 20, newest_ms=50)]
    assert merge_spans(head_over(first_step), first_step, SETTINGS, grain) == []
    late = wal_entry(20, 30, newest_ms=60)
    second_step = wal_entry(30, 40, newest_ms=100)
    still_to_come: list[IndexEntry] = [*first_step, late, second_step]
    assert merge_spans(head_over(still_to_come), still_to_come, SETTINGS, grain) == []
    over: list[IndexEntry] = [*first_step, second_step]
    assert _ranges(merge_spans(head_over(over), over, SETTINGS, grain)) == [(0, 20)]


def test_large_files_of_a_step_that_is_over_are_left_alone() -> None:
    sizes = (10, 900, 10, 500, 500, 500, 10)
    files: list[IndexEntry] = [
        parquet_entry(at * 10, at * 10 + 10, size_bytes=size, newest_ms=0) for at, size in enumerate(sizes)
    ]
    files.append(parquet_entry(70, 80, newest_ms=100))
    assert _ranges(merge_spans(head_over(files), files, SETTINGS, Grain(ms=100))) == [(20, 40), (40, 60)]


def test_files_that_must_be_left_alone_part_their_neighbours() -> None:
    files = _by_time(6, every_ms=10)
    all_but = {file.path for file in files if isinstance(file, ParquetEntry)} - {"40.parquet"}
    assert _ranges(merge_spans(head_over(files), files, SETTINGS, ANY_GRAIN, all_but)) == [(0, 30)]
    over = [*files, parquet_entry(60, 70, newest_ms=100)]
    merged = merge_spans(head_over(over), over, SETTINGS, Grain(ms=100), all_but)
    assert _ranges(merged) == [(0, 30), (40, 60)]


@pytest.mark.parametrize(
    ("configs", "grain"),
    [
        ({}, Grain(604_800_000, None)),
        ({"retention.ms": "100000", "retention.bytes": "2000000"}, Grain(100_000, 2_000_000)),
        ({"retention.ms": "100000", "segment.ms": "70000"}, Grain(70_000, None)),
        ({"retention.ms": "0", "retention.bytes": "0"}, Grain(60_000, 1 << 20)),
        ({"retention.ms": "-1", "segment.ms": "10"}, ANY_GRAIN),
        ({"retention.ms": "1000", "cleanup.policy": "compact"}, ANY_GRAIN),
    ],
)
def test_files_hold_as_much_as_a_segment_would_and_no_more_than_is_kept(
    configs: dict[str, str], grain: Grain
) -> None:
    assert grain_of(TopicConfig(configs)) == grain


@pytest.mark.parametrize(("configs", "oldest_s"), [({}, 2_000), ({"segment.ms": "100000"}, 1_100)])
def test_retention_takes_effect_while_records_come_slowly(configs: dict[str, str], oldest_s: int) -> None:
    grain = grain_of(TopicConfig({"retention.ms": "1000000", **configs}))
    made, every_s = Arrivals(grain), 10
    for now_s in range(0, 10_000, every_s):
        made.arrive(7, now_s * 1_000)
        start = retained_from(head_over(made.files), made.files, RetentionPolicy(1_000_000), now_s * 1_000)
        made.files = [file for file in made.files if file.end_offset > start]
        assert now_s - made.files[0].start_offset // 10 * every_s <= oldest_s + every_s


def test_a_backlog_of_many_steps_is_done_in_several_turns() -> None:
    waiting = [wal_entry(at, at + 1, newest_ms=60_000 * at) for at in range(600)]
    spans = wal_spans(head_over(waiting), waiting, SETTINGS, OLD, Grain(ms=60_000))
    assert _ranges(spans) == [(at, at + 1) for at in range(500)]


def test_a_backlog_of_many_entries_is_done_in_several_turns() -> None:
    waiting = [wal_entry(at, at + 1, size_bytes=1) for at in range(30_000)]
    settings = CompactionSettings(entries_per_file_max=3_000)
    spans = wal_spans(head_over(waiting), waiting, settings, 15_000, ANY_GRAIN)
    assert _ranges(spans) == [(at, at + 3_000) for at in range(0, 18_000, 3_000)]
