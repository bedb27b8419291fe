"""Notional segments of a compacted topic: where Kafka would have rolled its log. Pure.

Kafka never compacts the active segment, so consumers of a compacted topic see every recent record for a
while. Dray has no segments, but rolling the log by Kafka's rules shows where the active one would start, and
key compaction ends there. Rolling starts where key compaction has ended, which is always the start of a
segment. So every round finds the same segments, as long as no file spans two of them (`compaction.plan`).

Kafka rolls when a batch is appended that exceeds the segment's size or time limit: its timestamp is
`segment.ms` past that of the segment's first batch, or `max.compaction.lag.ms` if that is less. An idle log
is not rolled. Entries hold several batches, and timestamps may be out of order, so this is exact to an entry.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dray.cluster.configs import TopicConfig
from dray.index import IndexEntry


@dataclass(frozen=True, slots=True)
class SegmentLimits:
    """Limits of a segment in time and size."""

    ms: int
    size_bytes: int

    @classmethod
    def of(cls, config: TopicConfig) -> "SegmentLimits":
        lag_ms = config.whole("max.compaction.lag.ms")
        return cls(min(config.whole("segment.ms"), lag_ms), config.whole("segment.bytes"))


@dataclass(frozen=True, slots=True)
class Segments:
    """Start offsets of the segments; the last one is active, and may start at the end of the log."""

    starts: Sequence[int]
    active_since_ms: int
    """Timestamp of the active segment's first record; not positive if that has none."""

    @property
    def active_start(self) -> int:
        return self.starts[-1]

    def number(self, entry: IndexEntry) -> int:
        """Return the number of the segment in which an entry ends, counted from 1; 0 is before the first."""
        return bisect_right(self.starts, entry.end_offset - 1)


def segments_of(entries: Iterable[IndexEntry], start: int, limits: SegmentLimits) -> Segments:
    """Roll the log from offset `start` on; `entries` are all readable ones, in order."""
    starts = [start]
    since_ms = size_before = 0
    last: IndexEntry | None = None
    for entry in entries:
        if entry.end_offset <= start:
            continue
        before = entry.cumulative_size - entry.ingested_bytes if last is None else last.cumulative_size
        if last is None:
            since_ms, size_before = entry.min_timestamp_ms, before
        elif entry.cumulative_size - size_before > limits.size_bytes or _is_late(entry, since_ms, limits):
            starts.append(entry.start_offset)
            since_ms, size_before = entry.min_timestamp_ms, before
        last = entry
    return Segments(starts, since_ms)


def _is_late(entry: IndexEntry, since_ms: int, limits: SegmentLimits) -> bool:
    return since_ms > 0 and entry.max_timestamp_ms - since_ms > limits.ms
