"""Candidates of a round: the ranges of a topic's streams that are due. Reads the streams; `plan` decides.

A stream with nothing left to do is remembered together with its head, so that the entries of idle streams are
not read in every round.
"""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from dray.cluster.configs import TopicConfig
from dray.cluster.topics import Topic
from dray.compaction.backoff import Backoff
from dray.compaction.deps import CompactionDeps
from dray.compaction.key_compaction.segments import SegmentLimits, segments_of
from dray.compaction.plan import (
    FilePlan,
    RetentionWindows,
    plan_merges,
    plan_wal_files,
    retention_windows,
    wants_snapshot,
)
from dray.compaction.skipped import SkippedEntries
from dray.compaction.topic_tables import table_of
from dray.ids import StreamId
from dray.index import CompactionJob, IndexEntry, ParquetEntry, StreamHead, decode_entry
from dray.keyspace import entries_after
from dray.log.states import read_head, write_snapshot


async def read_stream(deps: CompactionDeps, stream: StreamId) -> tuple[StreamHead, list[IndexEntry]]:
    """Return a stream's head and its readable entries; raises `StreamUnknown`."""
    domain = deps.jobs.store_domain(stream)
    head, _ = await read_head(deps.meta, domain, stream)
    stored = await deps.meta.scan(domain, *entries_after(stream, head.log_start))
    return head, [decode_entry(found.key, found.value) for found in stored]


class FileBoundaries(NamedTuple):
    """Boundaries that no file of a topic crosses."""

    windows: RetentionWindows
    segments: SegmentLimits | None
    """None unless the topic is compacted by key."""

    @classmethod
    def of(cls, config: TopicConfig) -> "FileBoundaries":
        return cls(retention_windows(config), SegmentLimits.of(config) if config.is_compacted else None)

    def segment_numbers(
        self, head: StreamHead, entries: Sequence[IndexEntry], job: CompactionJob | None
    ) -> Callable[[IndexEntry], int]:
        """Return a function that numbers the notional segments that are not compacted by key yet."""
        if self.segments is None:
            return lambda _: 0
        done = 0 if job is None else job.key_compaction.end_offset
        return segments_of(entries, max(done, head.log_start), self.segments).number


class IdleState(NamedTuple):
    """The state in which a stream had nothing left to compact or merge."""

    head: StreamHead
    boundaries: FileBoundaries
    skipped: frozenset[int]


@dataclass(slots=True)
class CompactorState:
    """In-memory state of a compactor between rounds; a new process starts with an empty one."""

    backoff: Backoff
    skipped: SkippedEntries
    idle_streams: dict[StreamId, IdleState] = field(default_factory=dict)
    damaged: set[str] = field(default_factory=set)
    """Parquet files that could not be read."""

    @classmethod
    def of(cls, deps: CompactionDeps) -> "CompactorState":
        """Return an empty state."""
        backoff = Backoff(deps.clock, deps.settings.retry_backoff_ms_min, deps.settings.retry_backoff_ms_max)
        return cls(backoff, SkippedEntries(backoff))

    def retain_only(self, streams: frozenset[StreamId]) -> None:
        """Forget all other streams: they were deleted."""
        self.backoff.forget_stale()
        self.skipped.retain_only(streams)
        self.idle_streams = {stream: one for stream, one in self.idle_streams.items() if stream in streams}


class Candidates(NamedTuple):
    """The ranges of a stream that are due, and its readable entries; None if they were not read."""

    plans: Sequence[FilePlan] = ()
    entries: Sequence[IndexEntry] | None = None


class CandidateFinder:
    """Finds candidates in the streams of one topic, for one round; raises `StreamUnknown` if one was deleted.

    An idle stream is not read again until its head, boundaries or skipped entries change. Damaged files are
    never merged. `failed` are the end offsets of entries that failed earlier in the round: they are not tried
    twice in it, however short the backoff is.
    """

    def __init__(self, deps: CompactionDeps, topic: Topic, state: CompactorState) -> None:
        self._deps = deps
        self._table = table_of(topic.ref)
        self._boundaries = FileBoundaries.of(topic.config)
        self._state = state
        self._replaceable: frozenset[str] | None = None

    async def wal_ranges(
        self, stream: StreamId, job: CompactionJob | None, failed: Set[int] = frozenset()
    ) -> Candidates:
        """Return WAL ranges to convert; writes a producer snapshot if they only lack one."""
        if await self._is_idle(stream):
            return Candidates()
        head, entries = await read_stream(self._deps, stream)
        self._state.skipped.keep_only(stream, entries)
        now_ms, settings = self._deps.clock.now_ms(), self._deps.settings
        if wants_snapshot(head, entries, settings, now_ms):
            domain = self._deps.jobs.store_domain(stream)
            await write_snapshot(self._deps.meta, domain, stream, self._deps.clock, self._deps.log_settings)
            head, entries = await read_stream(self._deps, stream)
        skipped = self._state.skipped.backing_off(stream) | failed
        number = self._boundaries.segment_numbers(head, entries, job)
        windows = self._boundaries.windows
        plans = plan_wal_files(head, entries, settings, now_ms, windows, skipped=skipped, number=number)
        return Candidates(plans, entries)

    async def merges(
        self, stream: StreamId, job: CompactionJob | None, failed: Set[int] = frozenset()
    ) -> Candidates:
        """Return files to merge; the table is read only if there are any."""
        if await self._is_idle(stream):
            return Candidates()
        head, entries = await read_stream(self._deps, stream)
        skipped = self._state.skipped.backing_off(stream) | failed
        number = self._boundaries.segment_numbers(head, entries, job)
        plan = partial(plan_merges, head, entries, self._deps.settings, self._boundaries.windows)
        plans = plan(skipped=skipped, number=number)
        if plans:
            plans = plan(await self._replaceable_files(), skipped=skipped, number=number)
        if not plans and all(isinstance(one, ParquetEntry) or one.end_offset in skipped for one in entries):
            self._state.idle_streams[stream] = IdleState(head, self._boundaries, skipped)
        return Candidates(plans, entries)

    async def _replaceable_files(self) -> frozenset[str]:
        """Return the files that the table references as they are.

        A file that another engine has rewritten cannot be replaced. Merging a file with delete files would
        bring its deleted rows back.
        """
        if self._replaceable is None:
            state = await self._deps.tables.current(self._table)
            self._replaceable = state.whole_paths - self._state.damaged
        return self._replaceable

    async def _is_idle(self, stream: StreamId) -> bool:
        before = self._state.idle_streams.get(stream)
        if before is None:
            return False
        head, _ = await read_head(self._deps.meta, self._deps.jobs.store_domain(stream), stream)
        return before == (head, self._boundaries, self._state.skipped.backing_off(stream))
