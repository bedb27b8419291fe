"""How old the oldest record of a topic is that is not in Parquet yet.

What is in Parquet stays there, so each look begins where the one before found the first WAL entry.
"""

from collections.abc import Container

from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.index import WalEntry
from dray.pipeline.index_files import IndexFiles
from dray.runtime import Clock

_PAGE = 8


class Lag:
    """Looks at the index, and remembers up to where each stream is in Parquet."""

    def __init__(self, index: IndexFiles, clock: Clock) -> None:
        self._index = index
        self._clock = clock
        self._done: dict[StreamId, int] = {}

    async def seconds(self, topic: Topic) -> float:
        """Return the age of the topic's oldest WAL entry; 0 if there is none."""
        oldest_ms = [
            made_ms for stream in topic.streams if (made_ms := await self._oldest(stream)) is not None
        ]
        return max(0.0, (self._clock.now_ms() - min(oldest_ms)) / 1000) if oldest_ms else 0.0

    def forget_all_but(self, streams: Container[StreamId]) -> None:
        """Forget streams that are no more."""
        self._done = {stream: offset for stream, offset in self._done.items() if stream in streams}

    async def _oldest(self, stream: StreamId) -> int | None:
        async for entry in self._index.entries(stream, self._done.get(stream, -1), _PAGE):
            if isinstance(entry, WalEntry):
                return entry.created_at_ms
            self._done[stream] = entry.end_offset
        return None
