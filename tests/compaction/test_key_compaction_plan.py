"""Key compaction plan: when a cycle begins, how far it reaches, and how it is divided into jobs."""

from dataclasses import replace

import msgspec
import pytest

from dray.cluster.configs import TopicConfig
from dray.compaction.key_compaction.plan import KeyCompactionPlan, KeyCompactionPolicy, plan_key_compaction
from dray.compaction.key_compaction.segments import SegmentLimits, segments_of
from dray.compaction.settings import CompactionSettings
from dray.index import (
    CompactedRange,
    GroupRow,
    IndexEntry,
    KeyCompactionCycle,
    KeyCompactionState,
    ParquetEntry,
    after_cycle,
    pack_groups,
    rewound,
)
from dray.index.key_compaction import STEPS_MAX
from tests.compaction.builders import head_over, parquet_entry, wal_entry

DEFAULT = KeyCompactionPolicy.of(TopicConfig({}))
EACH_ENTRY = SegmentLimits(0, 0)
"""Every entry is a segment; `_plan` adds an active one."""
USUAL = replace(DEFAULT, segments=EACH_ENTRY)
EAGER = KeyCompactionPolicy(0.0, 0, 1 << 60, delete_retention_ms=100, segments=EACH_ENTRY)
NOW_MS = 1_000_000


def _file(start: int, end: int, *, size_bytes: int = 100, at_ms: int = 1, groups: int = 1) -> ParquetEntry:
    """Return a file with row groups of equal length and a record for each offset."""
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
    state: int | KeyCompactionState = 0,
    policy: KeyCompactionPolicy = EAGER,
    *,
    log_start: int = 0,
    **chosen: int,
) -> KeyCompactionPlan | None:
    known = (
        state
        if isinstance(state, KeyCompactionState)
        else KeyCompactionState((CompactedRange(state, 0),) if state else ())
    )
    settings = msgspec.structs.replace(CompactionSettings(), **chosen)
    head = head_over(entries, log_start=log_start)
    end = entries[-1].end_offset
    every = [*entries, wal_entry(end, end + 1)]
    return plan_key_compaction(head, every, known, policy, settings=settings, now_ms=NOW_MS)


def _dirty_range(plan: KeyCompactionPlan | None) -> tuple[int, int] | None:
    return None if plan is None else (plan.dirty_start, plan.dirty_end)


def _starts(plan: KeyCompactionPlan | None) -> list[int]:
    return [] if plan is None else [entry.start_offset for entry in plan.entries]


def test_topic_configs_have_the_names_and_defaults_of_kafka() -> None:
    assert KeyCompactionPolicy(0.5, 0, 2**63 - 1, 86_400_000, SegmentLimits(604_800_000, 1 << 30)) == DEFAULT
    set_ = KeyCompactionPolicy.of(
        TopicConfig({"min.cleanable.dirty.ratio": "0.01", "min.compaction.lag.ms": "7"})
    )
    assert (set_.dirty_ratio, set_.lag_ms_min) == (0.01, 7)


def test_first_cycle_covers_all_leading_files() -> None:
    plan = _plan([_file(0, 10), _file(10, 20), wal_entry(20, 30), _file(30, 40)])
    assert (_dirty_range(plan), _starts(plan)) == ((0, 20), [0, 10])


LIMITS = SegmentLimits(ms=100, size_bytes=1_000)


def _timed(*times_ms: int, each_bytes: int = 100) -> list[IndexEntry]:
    """Return entries of one record each, every other one a file."""
    return [
        msgspec.structs.replace(
            wal_entry(at, at + 1) if at % 2 else _file(at, at + 1),
            min_timestamp_ms=at_ms,
            max_timestamp_ms=at_ms,
            cumulative_size=each_bytes * (at + 1),
            **({} if at % 2 else {"ingested_bytes": each_bytes}),
        )
        for at, at_ms in enumerate(times_ms)
    ]


@pytest.mark.parametrize(
    ("times_ms", "starts"),
    [
        ((), [0]),
        ((5,), [0]),
        ((5, 105, 105), [0]),
        ((5, 106, 107, 206, 207), [0, 1, 4]),
        ((50, 5, 150, 151, 152), [0, 3]),
        ((0, 900, 900), [0]),
        ((-1, 900, 900), [0]),
    ],
)
def test_segment_ends_at_a_record_segment_ms_after_its_first(
    times_ms: tuple[int, ...], starts: list[int]
) -> None:
    assert segments_of(_timed(*times_ms), 0, LIMITS).starts == starts


def test_segment_ends_before_a_batch_that_exceeds_segment_bytes() -> None:
    assert segments_of(_timed(1, 1, 1, 1, 1, each_bytes=300), 0, LIMITS).starts == [0, 3]
    assert segments_of(_timed(1, 1, 1, each_bytes=2_000), 0, LIMITS).starts == [0, 1, 2]


def test_segments_start_where_key_compaction_ended() -> None:
    entries = _timed(5, 100, 190, 210, 300)
    assert segments_of(entries, 0, LIMITS).starts == [0, 2, 4]
    segments = segments_of(entries, 1, LIMITS)
    assert (segments.starts, segments.active_start, segments.active_since_ms) == ([1, 3], 3, 210)
    assert [segments.number(entry) for entry in entries] == [0, 1, 1, 2, 2]


def test_max_compaction_lag_ms_rolls_segments_sooner() -> None:
    config = {"segment.ms": "500", "segment.bytes": "1048576"}
    assert SegmentLimits.of(TopicConfig(config)) == SegmentLimits(500, 1 << 20)
    assert SegmentLimits.of(TopicConfig(config | {"max.compaction.lag.ms": "70"})) == SegmentLimits(
        70, 1 << 20
    )


def test_active_segment_is_not_compacted() -> None:
    entries: list[IndexEntry] = [
        _file(0, 10, at_ms=1),
        _file(10, 20, at_ms=80),
        _file(20, 30, at_ms=102),
        wal_entry(30, 40, newest_ms=200),
    ]
    policy = replace(EAGER, segments=SegmentLimits(100, 1 << 30))
    done = plan_key_compaction(
        head_over(entries),
        entries,
        KeyCompactionState(),
        policy,
        settings=CompactionSettings(),
        now_ms=NOW_MS,
    )
    assert (_dirty_range(done), _starts(done)) == ((0, 20), [0, 10])
    idle = entries[:2]
    planned = plan_key_compaction(
        head_over(idle), idle, KeyCompactionState(), policy, settings=CompactionSettings(), now_ms=NOW_MS
    )
    assert planned is None, "an idle log is never rolled"


def test_idle_log_is_compacted_after_max_compaction_lag_ms() -> None:
    entries: list[IndexEntry] = [_file(0, 10, at_ms=NOW_MS - 100), _file(10, 20, at_ms=NOW_MS - 50)]
    found = [
        plan_key_compaction(
            head_over(entries),
            entries,
            KeyCompactionState(),
            replace(EAGER, lag_ms_max=lag_ms, segments=SegmentLimits(lag_ms, 1 << 30)),
            settings=CompactionSettings(),
            now_ms=NOW_MS,
        )
        for lag_ms in (100, 99)
    ]
    assert [_dirty_range(one) for one in found] == [None, (0, 20)]


def test_skipped_entries_are_excluded_and_do_not_end_the_range() -> None:
    entries: list[IndexEntry] = [_file(0, 10), wal_entry(10, 20), _file(20, 30), wal_entry(30, 40)]
    head = head_over(entries)
    plan = plan_key_compaction(
        head, entries, KeyCompactionState(), EAGER, settings=CompactionSettings(), now_ms=NOW_MS, skipped={20}
    )
    assert (_dirty_range(plan), _starts(plan)) == ((0, 30), [0, 20])
    assert plan is not None
    done = plan.state_after(1, EAGER)
    assert done.excluded == (10, 20)
    assert (done.end_offset, done.expired(1 << 60)) == (30, [(0, 10)]), "later tombstones must be retained"


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (0, KeyCompactionState()),
        (5, KeyCompactionState((CompactedRange(5, 70),))),
        (10, KeyCompactionState((CompactedRange(10, 70),))),
        (15, KeyCompactionState((CompactedRange(10, 70), CompactedRange(15, 0)))),
        (25, KeyCompactionState((CompactedRange(10, 70), CompactedRange(20, 0)))),
        (
            30,
            KeyCompactionState(
                (CompactedRange(10, 70), CompactedRange(20, 0)), KeyCompactionCycle(30, 1, 12, 3), (2, 4)
            ),
        ),
    ],
)
def test_records_converted_late_make_later_offsets_dirty_again(
    offset: int, expected: KeyCompactionState
) -> None:
    state = KeyCompactionState(
        (CompactedRange(10, 70), CompactedRange(20, 0)), KeyCompactionCycle(30, 1, 12, 3), (2, 4)
    )
    assert rewound(state, offset) == expected


def test_stream_without_dirty_files_needs_no_job() -> None:
    assert _plan([wal_entry(0, 10)]) is None
    assert _plan([_file(0, 10)], state=10) is None


def test_cycle_waits_for_the_dirty_ratio() -> None:
    clean = _file(0, 10, size_bytes=500)
    assert _plan([clean, _file(10, 20, size_bytes=500)], 10, USUAL) is None
    plan = _plan([clean, _file(10, 20, size_bytes=501)], 10, USUAL)
    assert (_dirty_range(plan), _starts(plan)) == ((10, 20), [0, 10])


def test_dirty_part_of_a_merged_file_is_estimated_from_offsets() -> None:
    assert _plan([_file(0, 20, size_bytes=100)], 10, USUAL) is None
    plan = _plan([_file(0, 20, size_bytes=100)], 9, USUAL)
    assert (_dirty_range(plan), _starts(plan)) == ((9, 20), [0])


def test_records_past_max_compaction_lag_are_compacted_below_the_dirty_ratio() -> None:
    late = KeyCompactionPolicy(0.5, 0, 1_000, 100, EACH_ENTRY)
    clean = _file(0, 10, size_bytes=9_000)
    assert _plan([clean, _file(10, 20, at_ms=NOW_MS - 1_000)], 10, late) is None
    assert _dirty_range(_plan([clean, _file(10, 20, at_ms=NOW_MS - 1_001)], 10, late)) == (10, 20)
    assert _plan([_file(0, 10, at_ms=1)], 10, late) is None


def test_range_ends_before_a_record_within_min_compaction_lag() -> None:
    lag = KeyCompactionPolicy(0.0, 1_000, 1 << 60, 100, EACH_ENTRY)
    old, young = NOW_MS - 1_000, NOW_MS - 999
    files: list[IndexEntry] = [_file(0, 10, at_ms=old), _file(10, 20, at_ms=young), _file(20, 30, at_ms=old)]
    assert _dirty_range(_plan(files, 0, lag)) == (0, 10)
    assert _plan(files, 10, lag) is None


def test_records_without_timestamps_age_from_their_creation() -> None:
    lag = KeyCompactionPolicy(0.0, 1_000, 1 << 60, 100, EACH_ENTRY)
    files = [
        msgspec.structs.replace(_file(0, 10, at_ms=-1), created_at_ms=NOW_MS - age) for age in (999, 1_000)
    ]
    assert [_dirty_range(_plan([file], 0, lag)) for file in files] == [None, (0, 10)]


def test_cycle_is_limited_to_the_keys_that_fit_in_memory() -> None:
    files: list[IndexEntry] = [_file(0, 10, groups=2), _file(10, 20, groups=2)]
    assert _dirty_range(_plan(files, key_compaction_keys_max=15)) == (0, 15)
    assert _dirty_range(_plan(files, key_compaction_keys_max=14)) == (0, 10)
    assert _dirty_range(_plan(files, key_compaction_keys_max=1)) == (0, 5)
    assert _dirty_range(_plan(files, 5, key_compaction_keys_max=1)) == (5, 10)


def test_cycle_continues_where_its_last_job_ended() -> None:
    files: list[IndexEntry] = [_file(at, at + 10) for at in range(0, 50, 10)]
    plan = _plan(files, 20, key_compaction_files_max=2)
    assert plan is not None
    assert (_starts(plan), plan.is_last) == ([0, 10], False)
    after = plan.state_after(3, EAGER)
    assert after.cycle == KeyCompactionCycle(50, NOW_MS, 20, 3)
    merged: list[IndexEntry] = [_file(0, 10), _file(10, 40), _file(40, 50), _file(50, 90)]
    more = _plan(merged, after, key_compaction_files_max=2)
    assert more is not None
    assert (_dirty_range(more), _starts(more), more.is_last) == ((20, 50), [10, 40], True)
    assert more.state_after(0, EAGER) == KeyCompactionState(
        (CompactedRange(20, 0), CompactedRange(50, NOW_MS + 100))
    )


def test_dirty_range_starts_no_earlier_than_the_log() -> None:
    plan = _plan([_file(0, 10), _file(10, 20)], 5, log_start=12)
    assert plan is not None
    assert (_dirty_range(plan), plan.first_offset) == ((12, 20), 12)


def test_cycle_begins_when_the_last_tombstone_has_expired() -> None:
    files: list[IndexEntry] = [_file(0, 10), _file(10, 20)]
    waiting = KeyCompactionState((CompactedRange(10, NOW_MS - 5), CompactedRange(20, NOW_MS + 1)))
    assert _plan(files, waiting) is None
    due = KeyCompactionState((CompactedRange(10, NOW_MS - 5), CompactedRange(20, NOW_MS)))
    plan = _plan(files, due)
    assert plan is not None
    assert (plan.dirty, plan.expired) == ((), ((0, 10), (10, 20)))
    assert plan.state_after(0, EAGER) == KeyCompactionState((CompactedRange(20, 0),))


def test_tombstones_after_an_excluded_file_are_retained() -> None:
    files: list[IndexEntry] = [_file(0, 10), _file(10, 20)]
    plan = _plan(files, KeyCompactionState((CompactedRange(5, 1), CompactedRange(20, 1))))
    assert plan is not None
    remaining = plan.excluding({files[1].path})
    assert (_starts(remaining), remaining.expired) == ([0], ((0, 5), (5, 10)))
    after = remaining.state_after(0, EAGER)
    assert after == KeyCompactionState((CompactedRange(5, 0), CompactedRange(20, 1)), None, (10, 20))
    assert _plan(files, after) is None
    assert _plan([_file(20, 30)], after, log_start=20) is not None


def test_cycle_without_tombstones_leaves_none_to_expire() -> None:
    assert after_cycle(KeyCompactionState(), KeyCompactionCycle(10, 7, 10, 0), 100) == KeyCompactionState(
        (CompactedRange(10, 0),)
    )


@pytest.mark.slow
def test_merged_steps_drop_no_tombstone_too_early() -> None:
    state = KeyCompactionState()
    for number in range(1, 2 * STEPS_MAX):
        before = state
        state = after_cycle(state, KeyCompactionCycle(number, number, number, 1), 10**9)
        assert len(state.steps) <= STEPS_MAX
        assert [_until(state, at) >= _until(before, at) for at in range(number - 1)] == [True] * (number - 1)
    assert state.end_offset == 2 * STEPS_MAX - 1


def _until(state: KeyCompactionState, offset: int) -> int:
    return next(step.tombstones_until_ms for step in state.steps if offset < step.end_offset)
