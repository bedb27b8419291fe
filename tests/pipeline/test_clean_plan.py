"""When a stream is cleaned, how far, and in which portions."""

import msgspec
import pytest

from dray.cluster.configs import TopicConfig
from dray.index import (
    Cleaned,
    CleanPass,
    CleanStep,
    GroupRow,
    IndexEntry,
    ParquetEntry,
    after_pass,
    pack_groups,
)
from dray.index.cleaned import STEPS_MAX
from dray.pipeline.clean.plan import CleanPolicy, CleanWork, plan_cleaning
from dray.pipeline.settings import CompactionSettings
from tests.pipeline.builders import head_over, parquet_entry, wal_entry

DEFAULT = CleanPolicy.of(TopicConfig({}))
EAGER = CleanPolicy(dirty_ratio=0.0, lag_ms_min=0, lag_ms_max=1 << 60, delete_retention_ms=100)
NOW_MS = 1_000_000


def _file(start: int, end: int, *, size_bytes: int = 100, at_ms: int = 1, groups: int = 1) -> ParquetEntry:
    """A file of some row groups of like length, with a record for each offset."""
    each = (end - start) // groups
    rows = [GroupRow(at, at + each - 1, 4, 9, each, at_ms, at_ms) for at in range(0, end - start, each)]
    return msgspec.structs.replace(
        parquet_entry(start, end, size_bytes=size_bytes),
        min_timestamp_ms=at_ms,
        max_timestamp_ms=at_ms,
        packed_groups=pack_groups(rows),
    )


def _plan(
    entries: list[IndexEntry],
    cleaned: int | Cleaned = 0,
    policy: CleanPolicy = EAGER,
    *,
    log_start: int = 0,
    **chosen: int,
) -> CleanWork | None:
    known = cleaned if isinstance(cleaned, Cleaned) else Cleaned((CleanStep(cleaned, 0),) if cleaned else ())
    made = msgspec.structs.replace(CompactionSettings(), **chosen)
    head = head_over(entries, log_start=log_start)
    return plan_cleaning(head, entries, known, policy, settings=made, now_ms=NOW_MS)


def _stretch(work: CleanWork | None) -> tuple[int, int] | None:
    return None if work is None else (work.dirty_start, work.dirty_end)


def _starts(work: CleanWork | None) -> list[int]:
    return [] if work is None else [entry.start_offset for entry in work.entries]


def test_the_topics_configs_are_as_kafka_has_them() -> None:
    assert CleanPolicy(0.5, 0, 2**63 - 1, 86_400_000) == DEFAULT
    set_ = CleanPolicy.of(TopicConfig({"min.cleanable.dirty.ratio": "0.01", "min.compaction.lag.ms": "7"}))
    assert (set_.dirty_ratio, set_.lag_ms_min) == (0.01, 7)


def test_everything_in_files_is_cleaned_at_first() -> None:
    work = _plan([_file(0, 10), _file(10, 20), wal_entry(20, 30), _file(30, 40)])
    assert (_stretch(work), _starts(work)) == ((0, 20), [0, 10])


def test_a_stream_without_files_or_without_anything_dirty_is_left_alone() -> None:
    assert _plan([wal_entry(0, 10)]) is None
    assert _plan([_file(0, 10)], cleaned=10) is None


def test_cleaning_waits_until_enough_is_dirty() -> None:
    clean = _file(0, 10, size_bytes=500)
    assert _plan([clean, _file(10, 20, size_bytes=500)], 10, DEFAULT) is None
    work = _plan([clean, _file(10, 20, size_bytes=501)], 10, DEFAULT)
    assert (_stretch(work), _starts(work)) == ((10, 20), [0, 10])


def test_what_is_dirty_in_a_merged_file_counts_by_its_offsets() -> None:
    assert _plan([_file(0, 20, size_bytes=100)], 10, DEFAULT) is None
    work = _plan([_file(0, 20, size_bytes=100)], 9, DEFAULT)
    assert (_stretch(work), _starts(work)) == ((9, 20), [0])


def test_what_is_dirty_for_too_long_is_cleaned_however_little_it_is() -> None:
    late = CleanPolicy(0.5, 0, 1_000, 100)
    clean = _file(0, 10, size_bytes=9_000)
    assert _plan([clean, _file(10, 20, at_ms=NOW_MS - 1_000)], 10, late) is None
    assert _stretch(_plan([clean, _file(10, 20, at_ms=NOW_MS - 1_001)], 10, late)) == (10, 20)
    assert _plan([_file(0, 10, at_ms=1)], 10, late) is None


def test_what_is_too_young_is_not_cleaned_nor_what_lies_behind_it() -> None:
    lag = CleanPolicy(0.0, 1_000, 1 << 60, 100)
    old, young = NOW_MS - 1_000, NOW_MS - 999
    files: list[IndexEntry] = [_file(0, 10, at_ms=old), _file(10, 20, at_ms=young), _file(20, 30, at_ms=old)]
    assert _stretch(_plan(files, 0, lag)) == (0, 10)
    assert _plan(files, 10, lag) is None


def test_records_without_timestamps_are_as_old_as_their_coming() -> None:
    lag = CleanPolicy(0.0, 1_000, 1 << 60, 100)
    came = [
        msgspec.structs.replace(_file(0, 10, at_ms=-1), created_at_ms=NOW_MS - age) for age in (999, 1_000)
    ]
    assert [_stretch(_plan([file], 0, lag)) for file in came] == [None, (0, 10)]


def test_a_pass_takes_no_more_records_than_there_is_room_for_their_keys() -> None:
    files: list[IndexEntry] = [_file(0, 10, groups=2), _file(10, 20, groups=2)]
    assert _stretch(_plan(files, clean_keys_max=15)) == (0, 15)
    assert _stretch(_plan(files, clean_keys_max=14)) == (0, 10)
    assert _stretch(_plan(files, clean_keys_max=1)) == (0, 5)
    assert _stretch(_plan(files, 5, clean_keys_max=1)) == (5, 10)


def test_a_pass_goes_on_where_the_last_job_left_it() -> None:
    files: list[IndexEntry] = [_file(at, at + 10) for at in range(0, 50, 10)]
    work = _plan(files, 20, clean_files_max=2)
    assert work is not None
    assert (_starts(work), work.is_last) == ([0, 10], False)
    then = work.then(3, EAGER)
    assert then.under_way == CleanPass(50, NOW_MS, 20, 3)
    merged: list[IndexEntry] = [_file(0, 10), _file(10, 40), _file(40, 50), _file(50, 90)]
    more = _plan(merged, then, clean_files_max=2)
    assert more is not None
    assert (_stretch(more), _starts(more), more.is_last) == ((20, 50), [10, 40], True)
    assert more.then(0, EAGER) == Cleaned((CleanStep(20, 0), CleanStep(50, NOW_MS + 100)))


def test_the_start_of_the_log_bounds_the_dirty_stretch() -> None:
    work = _plan([_file(0, 10), _file(10, 20)], 5, log_start=12)
    assert work is not None
    assert (_stretch(work), work.first_offset) == ((12, 20), 12)


def test_tombstones_alone_are_a_reason_when_the_last_of_them_may_go() -> None:
    files: list[IndexEntry] = [_file(0, 10), _file(10, 20)]
    waiting = Cleaned((CleanStep(10, NOW_MS - 5), CleanStep(20, NOW_MS + 1)))
    assert _plan(files, waiting) is None
    due = Cleaned((CleanStep(10, NOW_MS - 5), CleanStep(20, NOW_MS)))
    work = _plan(files, due)
    assert work is not None
    assert (work.dirty, work.expired) == ((), ((0, 10), (10, 20)))
    assert work.then(0, EAGER) == Cleaned((CleanStep(20, 0),))


def test_tombstones_behind_a_file_that_was_left_alone_stay() -> None:
    files: list[IndexEntry] = [_file(0, 10), _file(10, 20)]
    work = _plan(files, Cleaned((CleanStep(5, 1), CleanStep(20, 1))))
    assert work is not None
    left = work.leaving({files[1].path})
    assert (_starts(left), left.expired) == ([0], ((0, 5), (5, 10)))
    then = left.then(0, EAGER)
    assert then == Cleaned((CleanStep(5, 0), CleanStep(20, 1)), None, (10, 20))
    assert _plan(files, then) is None
    assert _plan([_file(20, 30)], then, log_start=20) is not None


def test_a_pass_that_kept_no_tombstone_has_none_to_wait_for() -> None:
    assert after_pass(Cleaned(), CleanPass(10, 7, 10, 0), 100) == Cleaned((CleanStep(10, 0),))


@pytest.mark.slow
def test_steps_are_joined_so_that_no_tombstone_goes_too_early() -> None:
    cleaned = Cleaned()
    for number in range(1, 2 * STEPS_MAX):
        before = cleaned
        cleaned = after_pass(cleaned, CleanPass(number, number, number, 1), 10**9)
        assert len(cleaned.steps) <= STEPS_MAX
        assert [_until(cleaned, at) >= _until(before, at) for at in range(number - 1)] == [True] * (
            number - 1
        )
    assert cleaned.end_offset == 2 * STEPS_MAX - 1


def _until(cleaned: Cleaned, offset: int) -> int:
    return next(step.tombstones_until_ms for step in cleaned.steps if offset < step.end_offset)
