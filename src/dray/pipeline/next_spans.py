"""What of a stream is to be rewritten next: here the stream is read and the table asked, `plan` decides.

A stream of which nothing is left to do is remembered by its head: the entries of quiet streams are not read
at every turn.
"""

from collections.abc import Collection, MutableMapping, Sequence

from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.index import ParquetEntry, StreamHead
from dray.log.snapshot import write_snapshot
from dray.log.states import read_head
from dray.pipeline.parts import CompactionParts
from dray.pipeline.plan import Grain, Span, grain_of, merge_spans, wal_spans, wants_snapshot
from dray.pipeline.streams import read_stream
from dray.pipeline.topic_tables import table_of

Settled = MutableMapping[StreamId, tuple[StreamHead, Grain]]
"""Streams of which nothing was left that could be compacted or merged, with heads and grains at that time."""


class NextSpans:
    """Looks at the streams of one topic, for one round; raises `StreamUnknown` for one that is no more."""

    def __init__(
        self, parts: CompactionParts, topic: Topic, settled: Settled, damaged: Collection[str]
    ) -> None:
        """Streams in `settled` are not looked through again until their heads or grains change. Files in
        `damaged` cannot be read and are merged with nothing."""
        self._parts = parts
        self._table = table_of(topic.ref)
        self._grain = grain_of(topic.config)
        self._settled = settled
        self._damaged = frozenset(damaged)
        self._replaceable: frozenset[str] | None = None

    async def in_wal(self, stream: StreamId) -> Sequence[Span]:
        """Return WAL ranges that are to become files; a producer snapshot is written if they wait for one."""
        if await self._is_settled(stream):
            return []
        head, entries = await read_stream(self._parts, stream)
        now_ms, settings = self._parts.clock.now_ms(), self._parts.settings
        if wants_snapshot(head, entries, settings, now_ms):
            domain = self._parts.jobs.store_domain(stream)
            await write_snapshot(
                self._parts.meta, domain, stream, self._parts.clock, self._parts.log_settings
            )
            head, entries = await read_stream(self._parts, stream)
        return wal_spans(head, entries, settings, now_ms, self._grain)

    async def in_files(self, stream: StreamId) -> Sequence[Span]:
        """Return files that are to be merged; the table is asked only when there are any."""
        if await self._is_settled(stream):
            return []
        head, entries = await read_stream(self._parts, stream)
        spans = merge_spans(head, entries, self._parts.settings, self._grain)
        if spans:
            replaceable = await self._replaceable_files()
            spans = merge_spans(head, entries, self._parts.settings, self._grain, replaceable)
        if not spans and all(isinstance(entry, ParquetEntry) for entry in entries):
            self._settled[stream] = head, self._grain
        return spans

    async def _replaceable_files(self) -> frozenset[str]:
        """The files that the table names as the index does.

        One that another engine has rewritten cannot be replaced, and one of which somebody has deleted rows
        without rewriting it would come back whole.
        """
        if self._replaceable is None:
            state = await self._parts.tables.current(self._table)
            self._replaceable = state.whole_paths - self._damaged
        return self._replaceable

    async def _is_settled(self, stream: StreamId) -> bool:
        before = self._settled.get(stream)
        if before is None:
            return False
        head, _ = await read_head(self._parts.meta, self._parts.jobs.store_domain(stream), stream)
        return (head, self._grain) == before
