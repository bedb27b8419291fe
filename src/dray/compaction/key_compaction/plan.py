"""Key compaction plan: which range of a stream is compacted next. Pure; the workers carry it out.

Work is organized in cycles (`dray.index.key_compaction`): a cycle compacts one dirty range against everything
before it, in one or more jobs.

The rules are those of Kafka's log cleaner, with Parquet files in the place of segments:

- A cycle begins when the dirty part of what can be compacted is larger than `min.cleanable.dirty.ratio`, or
  its oldest record is older than `max.compaction.lag.ms`.
- The dirty range ends where Kafka's active segment would start (`segments`), and before the first entry that
  is not in a Parquet file yet.
- It ends before the first dirty file that has a record younger than `min.compaction.lag.ms`.
- It ends where the number of records exceeds the memory for keys; the rest is for the next cycle.

Two rules differ. Kafka drops expired tombstones only when there are new records to compact; here an idle
stream gets an extra cycle once the last of its tombstones has expired. And Kafka honors
`max.compaction.lag.ms` only while records are appended, as it never rolls an idle log; here the active
segment ends when its first record reaches that age.
"""

from bisect import bisect_right
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import msgspec

from dray.cluster.configs import TopicConfig
from dray.compaction.key_compaction.segments import SegmentLimits, segments_of
from dray.compaction.settings import CompactionSettings
from dray.index import (
    IndexEntry,
    KeyCompactionCycle,
    KeyCompactionState,
    ParquetEntry,
    StreamHead,
    WalEntry,
    after_cycle,
    newest_ms,
    with_excluded,
    without_expired_exclusion,
)


@dataclass(frozen=True, slots=True)
class KeyCompactionPolicy:
    """Topic configs that decide when its streams are compacted."""

    dirty_ratio: float
    lag_ms_min: int
    lag_ms_max: int
    delete_retention_ms: int
    segments: SegmentLimits

    @classmethod
    def of(cls, config: TopicConfig) -> "KeyCompactionPolicy":
        ratio = config.value("min.cleanable.dirty.ratio")
        assert isinstance(ratio, float)
        return cls(
            ratio,
            config.whole("min.compaction.lag.ms"),
            config.whole("max.compaction.lag.ms"),
            config.whole("delete.retention.ms"),
            SegmentLimits.of(config),
        )


@dataclass(frozen=True, slots=True)
class KeyCompactionPlan:
    """The work of one job: a cycle, or a part of one."""

    before: KeyCompactionState
    cycle: KeyCompactionCycle
    dirty: tuple[ParquetEntry, ...]
    """Files that overlap the dirty range, whose keys go into the key map."""
    dirty_start: int
    first_offset: int
    """The log start offset."""
    entries: tuple[ParquetEntry, ...]
    """Files to filter."""
    done_offset: int
    is_last: bool
    """Whether this job ends the cycle."""

    @property
    def dirty_end(self) -> int:
        return self.cycle.end_offset

    @property
    def expired(self) -> tuple[tuple[int, int], ...]:
        """Ranges whose tombstones have expired."""
        return tuple(self.before.expired(self.cycle.begun_ms))

    def excluding(self, paths: Collection[str]) -> "KeyCompactionPlan":
        """Return a plan without files that must not be replaced; the state records their range."""
        before = self.before
        for entry in self.entries:
            if entry.path in paths:
                before = with_excluded(before, entry.start_offset, entry.end_offset)
        entries = tuple(entry for entry in self.entries if entry.path not in paths)
        return replace(self, before=before, entries=entries)

    def state_after(self, tombstones: int, policy: KeyCompactionPolicy) -> KeyCompactionState:
        """Return the state after the job, given how many tombstones it kept in the dirty range."""
        done = msgspec.structs.replace(
            self.cycle, done_offset=self.done_offset, tombstones=self.cycle.tombstones + tombstones
        )
        if self.is_last:
            return after_cycle(self.before, done, policy.delete_retention_ms)
        return msgspec.structs.replace(self.before, cycle=done)


def plan_key_compaction(
    head: StreamHead,
    entries: Iterable[IndexEntry],
    state: KeyCompactionState,
    policy: KeyCompactionPolicy,
    *,
    settings: CompactionSettings,
    now_ms: int,
    skipped: Container[int] = (),
) -> KeyCompactionPlan | None:
    """Return the next job of a stream, or None if nothing is due.

    The job ends at the first WAL entry, except for skipped entries, which end at an offset in `skipped`. They
    are excluded in the same way as files that must not be replaced.
    """
    state = without_expired_exclusion(state, head.log_start)
    entries = list(entries)
    reached = list(takewhile(lambda one: isinstance(one, ParquetEntry) or one.end_offset in skipped, entries))
    files = [entry for entry in reached if isinstance(entry, ParquetEntry)]
    start = max(state.end_offset, head.log_start)
    cycle = (
        state.cycle
        or _dirty_cycle(
            files[: _closed_files(files, entries, start, policy, now_ms)], start, policy, settings, now_ms
        )
        or _expiry_cycle(state, head, now_ms)
    )
    return (
        None if cycle is None else _next_job(cycle, state, head, reached, settings.key_compaction_files_max)
    )


def _next_job(
    cycle: KeyCompactionCycle,
    state: KeyCompactionState,
    head: StreamHead,
    reached: Sequence[IndexEntry],
    files_max: int,
) -> KeyCompactionPlan:
    """Return the next job of a cycle, whose files are among the entries that key compaction reaches."""
    start, end = max(state.end_offset, head.log_start), cycle.end_offset
    files = [entry for entry in reached if isinstance(entry, ParquetEntry)]
    remaining = [file for file in files if file.end_offset > cycle.done_offset and file.start_offset < end]
    window = remaining[:files_max]
    dirty = [file for file in files if file.end_offset > start and file.start_offset < end]
    for entry in reached:
        if isinstance(entry, WalEntry) and entry.start_offset < end:
            state = with_excluded(state, entry.start_offset, entry.end_offset)
    return KeyCompactionPlan(
        before=state,
        cycle=cycle,
        dirty=tuple(filter(_has_rows, dirty)),
        dirty_start=start,
        first_offset=head.log_start,
        entries=tuple(filter(_has_rows, window)),
        done_offset=window[-1].end_offset if window else end,
        is_last=len(window) == len(remaining),
    )


def _has_rows(file: ParquetEntry) -> bool:
    return file.record_count > 0


def _closed_files(
    files: Sequence[ParquetEntry],
    entries: Sequence[IndexEntry],
    start: int,
    policy: KeyCompactionPolicy,
    now_ms: int,
) -> int:
    """Return how many files are before the active segment."""
    segments = segments_of(entries, start, policy.segments)
    if 0 < segments.active_since_ms < now_ms - policy.lag_ms_max:
        return len(files)
    return bisect_right(files, segments.active_start, key=lambda file: file.end_offset)


def _dirty_cycle(
    files: Sequence[ParquetEntry],
    start: int,
    policy: KeyCompactionPolicy,
    settings: CompactionSettings,
    now_ms: int,
) -> KeyCompactionCycle | None:
    """Begin a cycle if enough is dirty, or a dirty record is old enough."""
    dirty = _cleanable([file for file in files if file.end_offset > start], policy, now_ms)
    if not dirty:
        return None
    clean_bytes = sum(file.size_bytes for file in files if file.end_offset <= start)
    dirty_bytes = sum(file.size_bytes for file in dirty)
    clean_bytes += (before := _bytes_before(dirty[0], start))
    dirty_bytes -= before
    if dirty_bytes <= policy.dirty_ratio * (clean_bytes + dirty_bytes) and not _exceeds_lag(
        dirty, policy, now_ms
    ):
        return None
    return KeyCompactionCycle(_dirty_end(dirty, start, settings.key_compaction_keys_max), now_ms)


def _cleanable(dirty: Sequence[ParquetEntry], policy: KeyCompactionPolicy, now_ms: int) -> list[ParquetEntry]:
    youngest_ms = now_ms - policy.lag_ms_min
    if policy.lag_ms_min <= 0:
        return list(dirty)
    return list(takewhile(lambda file: newest_ms(file) <= youngest_ms, dirty))


def _bytes_before(file: ParquetEntry, start: int) -> int:
    """Estimate, from its offsets, how much of a file is before `start`: a merge may join clean and dirty."""
    inside = max(0, start - file.start_offset)
    return file.size_bytes * inside // (file.end_offset - file.start_offset)


def _exceeds_lag(dirty: Sequence[ParquetEntry], policy: KeyCompactionPolicy, now_ms: int) -> bool:
    known = [file.min_timestamp_ms for file in dirty if file.min_timestamp_ms > 0]
    return bool(known) and min(known) < now_ms - policy.lag_ms_max


def _dirty_end(dirty: Sequence[ParquetEntry], start: int, keys_max: int) -> int:
    """Return where the dirty range must end for its keys to fit in memory; it has at least one row group."""
    records = 0
    for file in dirty:
        groups = list(file.groups)
        ends = [file.start_offset + group.start_delta for group in groups[1:]]
        for group, end in zip(groups, [*ends, file.end_offset], strict=False):
            if end <= start:
                continue
            records += group.record_count
            if records > keys_max and records > group.record_count:
                return file.start_offset + group.start_delta
    return dirty[-1].end_offset


def _expiry_cycle(state: KeyCompactionState, head: StreamHead, now_ms: int) -> KeyCompactionCycle | None:
    """Begin a cycle for tombstones alone, once all of them have expired."""
    waiting = [
        step
        for step in state.steps
        if step.tombstones_until_ms and head.log_start < step.end_offset <= state.expires_to
    ]
    if not waiting or any(step.tombstones_until_ms > now_ms for step in waiting):
        return None
    return KeyCompactionCycle(state.end_offset, now_ms)
