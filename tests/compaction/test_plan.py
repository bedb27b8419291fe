"""Compaction plan: which WAL ranges are converted and which files are merged, and when."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cluster.configs import TopicConfig
from dray.compaction.plan import (
    UNLIMITED_WINDOW,
    FilePlan,
    RetentionWindows,
    plan_merges,
    plan_wal_files,
    retention_windows,
    wants_snapshot,
)
from dray.compaction.settings import CompactionSettings
from dray.index import IndexEntry, ParquetEntry
from dray.sweep.plan import RetentionPolicy, retained_from
from tests.compaction.builders import head_over, parquet_entry, wal_entry

SETTINGS = CompactionSettings(
    wal_age_ms_max=1_000,
    wal_bytes_max=1_000,
    wal_entries_max=5,
    file_bytes_target=1_000,
    entries_per_file_max=4,
    merge_files_min=3,
)
YOUNG, OLD = 999, 1_000


def _ranges(plans: list[FilePlan]) -> list[tuple[int, int]]:
    return [(plan.start_offset, plan.end_offset) for plan in plans]


def _wal(count: int, **made: int) -> list[IndexEntry]:
    return [wal_entry(number * 10, number * 10 + 10, **made) for number in range(count)]


def _files(*sizes: int) -> list[IndexEntry]:
    return [
        parquet_entry(number * 10, number * 10 + 10, size_bytes=size) for number, size in enumerate(sizes)
    ]


def test_young_small_range_with_few_entries_is_not_due() -> None:
    entries = _wal(4)
    assert plan_wal_files(head_over(entries), entries, SETTINGS, YOUNG, UNLIMITED_WINDOW) == []


def test_old_range_is_due() -> None:
    entries = _wal(3)
    assert _ranges(plan_wal_files(head_over(entries), entries, SETTINGS, OLD, UNLIMITED_WINDOW)) == [(0, 30)]


@pytest.mark.parametrize(("ahead_ms", "expected"), [(999, []), (1_000, [(0, 30)]), (10**12, [(0, 30)])])
def test_range_of_a_broker_whose_clock_was_ahead_does_not_wait_for_that_time(
    ahead_ms: int, expected: list[tuple[int, int]]
) -> None:
    entries = _wal(3, created_at_ms=OLD + ahead_ms)
    assert _ranges(plan_wal_files(head_over(entries), entries, SETTINGS, OLD, UNLIMITED_WINDOW)) == expected


def test_range_with_many_entries_is_due_and_split_by_entry_count() -> None:
    entries = _wal(5)
    assert _ranges(plan_wal_files(head_over(entries), entries, SETTINGS, YOUNG, UNLIMITED_WINDOW)) == [
        (0, 40),
        (40, 50),
    ]


def test_large_range_is_due_and_split_by_size() -> None:
    entries = _wal(3, size_bytes=400)
    assert _ranges(plan_wal_files(head_over(entries), entries, SETTINGS, YOUNG, UNLIMITED_WINDOW)) == [
        (0, 20),
        (20, 30),
    ]


def test_entry_larger_than_the_target_size_gets_its_own_file() -> None:
    entries = _wal(2, size_bytes=5_000)
    assert _ranges(plan_wal_files(head_over(entries), entries, SETTINGS, YOUNG, UNLIMITED_WINDOW)) == [
        (0, 10),
        (10, 20),
    ]


def test_entries_after_the_producer_snapshot_are_not_compacted() -> None:
    entries = _wal(3)
    head = head_over(entries, snapshot_end=25)
    assert _ranges(plan_wal_files(head, entries, SETTINGS, OLD, UNLIMITED_WINDOW)) == [(0, 20)]
    assert wants_snapshot(head, entries, SETTINGS, OLD)
    assert not wants_snapshot(head, entries, SETTINGS, YOUNG)
    assert not wants_snapshot(head_over(entries), entries, SETTINGS, OLD)


def test_records_before_the_log_start_are_dropped() -> None:
    entries = _wal(2)
    (plan,) = plan_wal_files(head_over(entries, log_start=5), entries, SETTINGS, OLD, UNLIMITED_WINDOW)
    assert (plan.start_offset, plan.first_offset) == (0, 5)


def test_wal_ranges_do_not_extend_across_files() -> None:
    entries: list[IndexEntry] = [wal_entry(0, 10), parquet_entry(10, 20), wal_entry(20, 30)]
    assert _ranges(plan_wal_files(head_over(entries), entries, SETTINGS, OLD, UNLIMITED_WINDOW)) == [
        (0, 10),
        (20, 30),
    ]


def test_skipped_entries_split_wal_ranges_and_do_not_make_them_due() -> None:
    entries = [*_wal(2, created_at_ms=YOUNG), wal_entry(20, 30), wal_entry(30, 40, created_at_ms=YOUNG)]
    head = head_over(entries)
    assert _ranges(plan_wal_files(head, entries, SETTINGS, OLD, UNLIMITED_WINDOW, skipped={30})) == []
    late = OLD + YOUNG
    assert _ranges(plan_wal_files(head, entries, SETTINGS, late, UNLIMITED_WINDOW, skipped={30})) == [
        (0, 20),
        (30, 40),
    ]
    assert _ranges(plan_wal_files(head, entries, SETTINGS, late, UNLIMITED_WINDOW)) == [(0, 40)]


def test_few_small_files_are_not_merged() -> None:
    entries = _files(10, 10)
    assert plan_merges(head_over(entries), entries, SETTINGS, UNLIMITED_WINDOW) == []


def test_enough_adjacent_small_files_are_merged() -> None:
    entries = _files(900, 10, 12, 11, 900)
    assert _ranges(plan_merges(head_over(entries), entries, SETTINGS, UNLIMITED_WINDOW)) == [(10, 40)]


def test_merges_do_not_extend_across_large_files() -> None:
    entries = _files(10, 10, 900, 10, 10)
    assert plan_merges(head_over(entries), entries, SETTINGS, UNLIMITED_WINDOW) == []


def test_file_that_starts_before_the_log_start_is_rewritten() -> None:
    entries = _files(900, 900)
    (plan,) = plan_merges(head_over(entries, log_start=3), entries, SETTINGS, UNLIMITED_WINDOW)
    assert (plan.start_offset, plan.end_offset, plan.first_offset) == (0, 10, 3)


def test_file_that_outweighs_the_others_is_not_merged() -> None:
    entries = [
        parquet_entry(at * 10, at * 10 + 10, ingested_bytes=size) for at, size in enumerate((90, 9, 9, 9))
    ]
    assert _ranges(plan_merges(head_over(entries), entries, SETTINGS, UNLIMITED_WINDOW)) == [(10, 40)]
    assert plan_merges(head_over(entries[:3]), entries[:3], SETTINGS, UNLIMITED_WINDOW) == []


class Arrivals:
    """A stream whose files arrive one by one and are merged as planned; each has a footer of 20 bytes."""

    def __init__(self, windows: RetentionWindows = UNLIMITED_WINDOW, file_bytes: int = 1_000_000) -> None:
        self._window = windows
        self._settings = CompactionSettings(file_bytes_target=file_bytes, merge_files_min=4)
        self.files: list[IndexEntry] = []
        self.rewrites: dict[IndexEntry, int] = {}
        self.rewritten = 0

    def arrive(self, ingested_bytes: int, newest_ms: int = 0) -> None:
        start = self.files[-1].end_offset if self.files else 0
        self._put(len(self.files), [], parquet(start, start + 10, ingested_bytes, newest_ms))
        while plans := plan_merges(head_over(self.files), self.files, self._settings, self._window):
            for plan in plans:
                came, newest = sum(one.ingested_bytes for one in plan.entries), plan.entries[-1]
                self.rewritten += came
                merged = parquet(plan.start_offset, plan.end_offset, came, newest.running_max_timestamp_ms)
                self._put(self.files.index(plan.entries[0]), plan.entries, merged)

    def _put(self, at: int, replaced: Sequence[IndexEntry], file: IndexEntry) -> None:
        self.rewrites[file] = 1 + max((self.rewrites.pop(one) for one in replaced), default=-1)
        self.files[at : at + len(replaced)] = [file]


def parquet(start: int, end: int, ingested_bytes: int, newest_ms: int) -> ParquetEntry:
    return parquet_entry(
        start, end, size_bytes=20 + ingested_bytes, ingested_bytes=ingested_bytes, newest_ms=newest_ms
    )


@given(st.lists(st.integers(1, 4), min_size=50, max_size=300))
def test_each_rewrite_at_least_doubles_the_size_of_a_records_file(sizes: list[int]) -> None:
    made = Arrivals()
    for size in sizes:
        made.arrive(size)
    assert sum(file.ingested_bytes for file in made.files) == sum(sizes)
    assert [file.end_offset for file in made.files[:-1]] == [file.start_offset for file in made.files[1:]]
    assert all(2**rewrites <= file.ingested_bytes for file, rewrites in made.rewrites.items())


@given(st.lists(st.integers(1, 400), min_size=50, max_size=300), st.integers(1, 50))
def test_files_of_limited_size_are_rewritten_a_few_times_only(sizes: list[int], per_window: int) -> None:
    made = Arrivals(RetentionWindows(ms=per_window), file_bytes=1_000)
    for at, size in enumerate(sizes):
        made.arrive(size, at)
    assert sum(file.ingested_bytes for file in made.files) == sum(sizes)
    assert [file.end_offset for file in made.files[:-1]] == [file.start_offset for file in made.files[1:]]
    assert all(file.stored_bytes <= 1_000 for file in made.files)
    assert max(made.rewrites.values()) <= 10  # doubled until full, then once when the window was over
    over = [
        file for file in made.files if file.running_max_timestamp_ms // per_window < len(sizes) // per_window
    ]
    assert len(over) <= 2 * (sum(sizes) // 500 + len(sizes) // per_window + 1)


def test_slow_topic_has_few_files_and_few_rewrites() -> None:
    made = Arrivals()
    for _ in range(2_000):
        made.arrive(7)
    assert len(made.files) <= 20
    assert made.rewritten <= 11 * 7 * 2_000


def _by_time(count: int, every_ms: int = 40) -> list[IndexEntry]:
    return [parquet_entry(at * 10, at * 10 + 10, newest_ms=every_ms * at) for at in range(count)]


def test_files_stay_within_retention_windows() -> None:
    windows = RetentionWindows(ms=100)
    files = _by_time(9)
    assert _ranges(plan_merges(head_over(files), files, SETTINGS, windows)) == [(0, 30), (30, 50), (50, 80)]
    waiting = [wal_entry(at * 10, at * 10 + 10, newest_ms=40 * at) for at in range(4)]
    assert _ranges(plan_wal_files(head_over(waiting), waiting, SETTINGS, OLD, windows)) == [(0, 30), (30, 40)]
    by_size = RetentionWindows(size_bytes=250)  # each entry adds 100
    assert _ranges(plan_wal_files(head_over(waiting), waiting, SETTINGS, OLD, by_size)) == [(0, 20), (20, 40)]


def test_small_files_of_a_window_are_merged_once_it_is_over() -> None:
    windows = RetentionWindows(ms=100)
    first_window = [
        parquet_entry(0, 10, newest_ms=10, ingested_bytes=90),
        parquet_entry(10, 20, newest_ms=50),
    ]
    assert plan_merges(head_over(first_window), first_window, SETTINGS, windows) == []
    late = wal_entry(20, 30, newest_ms=60)
    second_window = wal_entry(30, 40, newest_ms=100)
    still_to_come: list[IndexEntry] = [*first_window, late, second_window]
    assert plan_merges(head_over(still_to_come), still_to_come, SETTINGS, windows) == []
    over: list[IndexEntry] = [*first_window, second_window]
    assert _ranges(plan_merges(head_over(over), over, SETTINGS, windows)) == [(0, 20)]


def test_files_stay_within_notional_segments() -> None:
    files = _files(10, 10, 10, 10, 10, 10)

    def number(entry: IndexEntry) -> int:
        return int(entry.end_offset > 30)

    assert _ranges(plan_merges(head_over(files), files, SETTINGS, UNLIMITED_WINDOW)) == [(0, 40), (40, 60)]
    kept_apart = plan_merges(head_over(files), files, SETTINGS, UNLIMITED_WINDOW, number=number)
    assert _ranges(kept_apart) == [(0, 30), (30, 60)]
    waiting = _wal(4)
    plans = plan_wal_files(head_over(waiting), waiting, SETTINGS, OLD, UNLIMITED_WINDOW, number=number)
    assert _ranges(plans) == [(0, 30), (30, 40)]


def test_window_is_over_when_its_remaining_wal_entries_are_skipped() -> None:
    entries: list[IndexEntry] = [
        parquet_entry(0, 10, newest_ms=10, ingested_bytes=90),
        parquet_entry(10, 20, newest_ms=50),
        wal_entry(20, 30, newest_ms=60),
        parquet_entry(30, 40, newest_ms=70),
        wal_entry(40, 50, newest_ms=100),
    ]
    head = head_over(entries)
    assert plan_merges(head, entries, SETTINGS, RetentionWindows(ms=100)) == []
    assert _ranges(plan_merges(head, entries, SETTINGS, RetentionWindows(ms=100), skipped={30})) == [(0, 20)]


def test_large_files_of_a_window_that_is_over_are_not_merged() -> None:
    sizes = (10, 900, 10, 500, 500, 500, 10)
    files: list[IndexEntry] = [
        parquet_entry(at * 10, at * 10 + 10, size_bytes=size, newest_ms=0) for at, size in enumerate(sizes)
    ]
    files.append(parquet_entry(70, 80, newest_ms=100))
    assert _ranges(plan_merges(head_over(files), files, SETTINGS, RetentionWindows(ms=100))) == [
        (20, 40),
        (40, 60),
    ]


def test_merges_do_not_extend_across_files_that_cannot_be_replaced() -> None:
    files = _by_time(6, every_ms=10)
    all_but = {file.path for file in files if isinstance(file, ParquetEntry)} - {"40.parquet"}
    assert _ranges(plan_merges(head_over(files), files, SETTINGS, UNLIMITED_WINDOW, all_but)) == [(0, 30)]
    over = [*files, parquet_entry(60, 70, newest_ms=100)]
    merged = plan_merges(head_over(over), over, SETTINGS, RetentionWindows(ms=100), all_but)
    assert _ranges(merged) == [(0, 30), (40, 60)]


@pytest.mark.parametrize(
    ("configs", "windows"),
    [
        ({}, RetentionWindows(604_800_000, None)),
        ({"retention.ms": "100000", "retention.bytes": "2000000"}, RetentionWindows(100_000, 2_000_000)),
        ({"retention.ms": "100000", "segment.ms": "70000"}, RetentionWindows(70_000, None)),
        ({"retention.ms": "0", "retention.bytes": "0"}, RetentionWindows(60_000, 1 << 20)),
        ({"retention.ms": "-1", "segment.ms": "10"}, UNLIMITED_WINDOW),
        ({"retention.ms": "1000", "cleanup.policy": "compact"}, UNLIMITED_WINDOW),
    ],
)
def test_window_has_the_extent_of_a_segment_limited_by_retention(
    configs: dict[str, str], windows: RetentionWindows
) -> None:
    assert retention_windows(TopicConfig(configs)) == windows


@pytest.mark.parametrize(("configs", "oldest_s"), [({}, 2_000), ({"segment.ms": "100000"}, 1_100)])
def test_retention_takes_effect_on_slow_topics(configs: dict[str, str], oldest_s: int) -> None:
    windows = retention_windows(TopicConfig({"retention.ms": "1000000", **configs}))
    made, every_s = Arrivals(windows), 10
    for now_s in range(0, 10_000, every_s):
        made.arrive(7, now_s * 1_000)
        start = retained_from(head_over(made.files), made.files, RetentionPolicy(1_000_000), now_s * 1_000)
        made.files = [file for file in made.files if file.end_offset > start]
        assert now_s - made.files[0].start_offset // 10 * every_s <= oldest_s + every_s


def test_backlog_of_many_windows_takes_several_passes() -> None:
    waiting = [wal_entry(at, at + 1, newest_ms=60_000 * at) for at in range(600)]
    plans = plan_wal_files(head_over(waiting), waiting, SETTINGS, OLD, RetentionWindows(ms=60_000))
    assert _ranges(plans) == [(at, at + 1) for at in range(500)]


def test_backlog_of_many_entries_takes_several_passes() -> None:
    waiting = [wal_entry(at, at + 1, size_bytes=1) for at in range(30_000)]
    settings = CompactionSettings(entries_per_file_max=3_000)
    plans = plan_wal_files(head_over(waiting), waiting, settings, 15_000, UNLIMITED_WINDOW)
    assert _ranges(plans) == [(at, at + 3_000) for at in range(0, 18_000, 3_000)]
