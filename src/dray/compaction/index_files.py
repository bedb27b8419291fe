"""The Parquet files of streams, according to the index."""

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

from dray.cluster.topics import Topic
from dray.compaction.job_store import JobStore
from dray.ids import StreamId
from dray.index import IndexEntry, ParquetEntry, decode_entry
from dray.keyspace import entries_after, entry_key
from dray.log import StreamUnknown
from dray.log.states import read_head
from dray.meta.port import MetaStore
from dray.meta.reading import scan_all

_PAGE = 256


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file and the stream that it belongs to."""

    partition: int
    stream: StreamId
    entry: ParquetEntry


class IndexFiles:
    """Reads the index of a cluster's streams. A stream that was deleted has no files and no log start."""

    def __init__(self, meta: MetaStore, jobs: JobStore) -> None:
        self._meta = meta
        self._jobs = jobs

    async def of_topic(self, topic: Topic) -> AsyncIterator[IndexedFile]:
        """Iterate over the topic's files, partition by partition."""
        for partition, stream in enumerate(topic.streams):
            async for entry in self.entries(stream):
                if isinstance(entry, ParquetEntry):
                    yield IndexedFile(partition, stream, entry)

    async def log_starts(self, topic: Topic) -> dict[int, int]:
        """Return the log start offset of each partition."""
        found: dict[int, int] = {}
        for partition, stream in enumerate(topic.streams):
            with suppress(StreamUnknown):
                head, _ = await read_head(self._meta, self._jobs.store_domain(stream), stream)
                found[partition] = head.log_start
        return found

    async def entries(
        self, stream: StreamId, offset: int = -1, page_size: int = _PAGE
    ) -> AsyncIterator[IndexEntry]:
        """Iterate over the readable entries of a stream that end after `offset`."""
        domain = self._jobs.store_domain(stream)
        try:
            head, _ = await read_head(self._meta, domain, stream)
        except StreamUnknown:
            return
        bounds = entries_after(stream, max(head.log_start, offset))
        async for found in scan_all(self._meta, domain, bounds, page_size):
            yield decode_entry(found.key, found.value)

    async def references(self, file: IndexedFile) -> bool:
        """Return whether the index still holds the file's entry, unchanged."""
        entry = file.entry
        key = entry_key(entry.stream, entry.end_offset, entry.cumulative_size)
        stored = await self._meta.get(self._jobs.store_domain(file.stream), key)
        return stored is not None and decode_entry(key, stored.value) == entry
