"""Lag of compaction: the age of a topic's oldest record that is not in Parquet yet.

Entries that compaction skips do not count: a damaged object is not a backlog. An entry that is in Parquet or
skipped never becomes backlog again, so each measurement starts where the previous one found the first
uncompacted entry.
"""

from collections.abc import Container

from dray.cluster.topics import Topic
from dray.compaction.index_files import IndexFiles
from dray.compaction.job_store import JobStore
from dray.compaction.skipped import SkippedEnds
from dray.ids import StreamId
from dray.index import WalEntry
from dray.runtime import Clock

_PAGE = 8


class Lag:
    """Measures lag from the index; remembers the offset up to which each stream is in Parquet."""

    def __init__(self, index: IndexFiles, jobs: JobStore, clock: Clock) -> None:
        self._index = index
        self._jobs = jobs
        self._clock = clock
        self._done: dict[StreamId, int] = {}

    async def seconds(self, topic: Topic) -> float:
        """Return the age of the topic's oldest WAL entry; 0 if there is none."""
        oldest_ms = [
            made_ms for stream in topic.streams if (made_ms := await self._oldest(stream)) is not None
        ]
        return max(0.0, (self._clock.now_ms() - min(oldest_ms)) / 1000) if oldest_ms else 0.0

    def forget_all_but(self, streams: Container[StreamId]) -> None:
        """Forget all streams other than these."""
        self._done = {stream: offset for stream, offset in self._done.items() if stream in streams}

    async def _oldest(self, stream: StreamId) -> int | None:
        skipped: Container[int] | None = None
        async for entry in self._index.entries(stream, self._done.get(stream, -1), _PAGE):
            if isinstance(entry, WalEntry):
                if skipped is None:
                    skipped = await self._skipped(stream)
                if entry.end_offset not in skipped:
                    return entry.created_at_ms
            self._done[stream] = entry.end_offset
        return None

    async def _skipped(self, stream: StreamId) -> Container[int]:
        stored = await self._jobs.load(stream)
        return () if stored is None else SkippedEnds(stored.job.skipped)
