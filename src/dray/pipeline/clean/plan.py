"""Which part of a stream is to be cleaned: decided here, carried out by the workers. Pure.

The rules are those of Kafka's log cleaner, with a Parquet file in the place of a segment, and everything that
is not in Parquet yet in the place of the active one:

- Cleaning begins when the dirty part of what can be cleaned is larger than `min.cleanable.dirty.ratio`, or
  its oldest record is older than `max.compaction.lag.ms`.
- It ends before the first dirty file that has a record younger than `min.compaction.lag.ms`.
- It ends where as many records have been met as there is memory for keys; the rest is for the next pass.

One rule is ours: Kafka drops old tombstones only when there is something new to clean. Here a stream that has
come to rest is gone through once more for them, when the last of them has been kept for long enough.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import msgspec

from dray.cluster.configs import TopicConfig
from dray.index import (
    Cleaned,
    CleanPass,
    IndexEntry,
    ParquetEntry,
    StreamHead,
    after_pass,
    newest_ms,
    with_left_alone,
    without_left_alone,
)
from dray.pipeline.settings import CompactionSettings


@dataclass(frozen=True, slots=True)
class CleanPolicy:
    """When a topic's streams are to be cleaned."""

    dirty_ratio: float
    lag_ms_min: int
    lag_ms_max: int
    delete_retention_ms: int

    @classmethod
    def of(cls, config: TopicConfig) -> "CleanPolicy":
        ratio = config.value("min.cleanable.dirty.ratio")
        assert isinstance(ratio, float)
        return cls(
            ratio,
            config.whole("min.compaction.lag.ms"),
            config.whole("max.compaction.lag.ms"),
            config.whole("delete.retention.ms"),
        )


@dataclass(frozen=True, slots=True)
class CleanWork:
    """What one job does: a pass, or a part of one."""

    before: Cleaned
    under_way: CleanPass
    dirty: tuple[ParquetEntry, ...]
    """Files whose keys count, as far as they lie in the dirty stretch."""
    dirty_start: int
    first_offset: int
    """Where the log starts."""
    entries: tuple[ParquetEntry, ...]
    """Files to be gone through."""
    done_offset: int
    is_last: bool
    """Whether the pass is over with this job."""

    @property
    def dirty_end(self) -> int:
        return self.under_way.end_offset

    @property
    def expired(self) -> tuple[tuple[int, int], ...]:
        """The stretches whose tombstones go."""
        return tuple(self.before.expired(self.under_way.begun_ms))

    def leaving(self, untouchable: Collection[str]) -> "CleanWork":
        """Return the same without files that must not be replaced, which is remembered."""
        before = self.before
        for entry in self.entries:
            if entry.path in untouchable:
                before = with_left_alone(before, entry.start_offset, entry.end_offset)
        entries = tuple(entry for entry in self.entries if entry.path not in untouchable)
        return replace(self, before=before, entries=entries)

    def then(self, tombstones: int, policy: CleanPolicy) -> Cleaned:
        """Return what is so when the job is done, which kept so many tombstones in the dirty stretch."""
        done = msgspec.structs.replace(
            self.under_way, done_offset=self.done_offset, tombstones=self.under_way.tombstones + tombstones
        )
        if self.is_last:
            return after_pass(self.before, done, policy.delete_retention_ms)
        return msgspec.structs.replace(self.before, under_way=done)


def plan_cleaning(
    head: StreamHead,
    entries: Iterable[IndexEntry],
    cleaned: Cleaned,
    policy: CleanPolicy,
    *,
    settings: CompactionSettings,
    now_ms: int,
) -> CleanWork | None:
    """Return the next job of cleaning that a stream needs now, if any."""
    cleaned = without_left_alone(cleaned, head.log_start)
    files = [entry for entry in takewhile(_is_file, entries) if isinstance(entry, ParquetEntry)]
    start = max(cleaned.end_offset, head.log_start)
    under_way = (
        cleaned.under_way
        or _dirty_pass(files, start, policy, settings, now_ms)
        or _expiry_pass(cleaned, head, now_ms)
    )
    if under_way is None:
        return None
    end = under_way.end_offset
    left = [file for file in files if file.end_offset > under_way.done_offset and file.start_offset < end]
    window = left[: settings.clean_files_max]
    dirty = [file for file in files if file.end_offset > start and file.start_offset < end]
    return CleanWork(
        before=cleaned,
        under_way=under_way,
        dirty=tuple(filter(_has_rows, dirty)),
        dirty_start=start,
        first_offset=head.log_start,
        entries=tuple(filter(_has_rows, window)),
        done_offset=window[-1].end_offset if window else end,
        is_last=len(window) == len(left),
    )


def _is_file(entry: IndexEntry) -> bool:
    return isinstance(entry, ParquetEntry)


def _has_rows(file: ParquetEntry) -> bool:
    return file.record_count > 0


def _dirty_pass(
    files: Sequence[ParquetEntry], start: int, policy: CleanPolicy, settings: CompactionSettings, now_ms: int
) -> CleanPass | None:
    """Begin a pass over what is dirty, if that is much or old."""
    dirty = _cleanable([file for file in files if file.end_offset > start], policy, now_ms)
    if not dirty:
        return None
    clean_bytes = sum(file.size_bytes for file in files if file.end_offset <= start)
    dirty_bytes = sum(file.size_bytes for file in dirty)
    clean_bytes += (before := _bytes_before(dirty[0], start))
    dirty_bytes -= before
    if dirty_bytes <= policy.dirty_ratio * (clean_bytes + dirty_bytes) and not _too_old(
        dirty, policy, now_ms
    ):
        return None
    return CleanPass(_dirty_end(dirty, start, settings.clean_keys_max), now_ms)


def _cleanable(dirty: Sequence[ParquetEntry], policy: CleanPolicy, now_ms: int) -> list[ParquetEntry]:
    youngest_ms = now_ms - policy.lag_ms_min
    if policy.lag_ms_min <= 0:
        return list(dirty)
    return list(takewhile(lambda file: newest_ms(file) <= youngest_ms, dirty))


def _bytes_before(file: ParquetEntry, start: int) -> int:
    """How much of a file lies before an offset, judged by its offsets: a merge may join clean and dirty."""
    inside = max(0, start - file.start_offset)
    return file.size_bytes * inside // (file.end_offset - file.start_offset)


def _too_old(dirty: Sequence[ParquetEntry], policy: CleanPolicy, now_ms: int) -> bool:
    known = [file.min_timestamp_ms for file in dirty if file.min_timestamp_ms > 0]
    return bool(known) and min(known) < now_ms - policy.lag_ms_max


def _dirty_end(dirty: Sequence[ParquetEntry], start: int, keys_max: int) -> int:
    """Return how far the dirty stretch may reach, so that its keys have room; at least a row group."""
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


def _expiry_pass(cleaned: Cleaned, head: StreamHead, now_ms: int) -> CleanPass | None:
    """Begin a pass for tombstones alone, once all that there are may go."""
    waiting = [
        step
        for step in cleaned.steps
        if step.tombstones_until_ms and head.log_start < step.end_offset <= cleaned.expires_to
    ]
    if not waiting or any(step.tombstones_until_ms > now_ms for step in waiting):
        return None
    return CleanPass(cleaned.end_offset, now_ms)
