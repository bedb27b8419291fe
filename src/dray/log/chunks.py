"""Batches of index entries: from memory, the cache or object storage.

Own recent chunks are in memory. Others are read through a cache in which readers of one range share one read;
the bytes in flight are bounded, and further reads wait. A reader that needs a chunk from object storage is
catching up, so the next chunks are prefetched at the same time.

What is read is the *span* of a chunk: the whole object where that is small, because a request then costs more
than its bytes, and a reader of one of its streams mostly reads the others too; else the chunk alone. Parquet
files are read by row groups (`row_groups`).
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from typing_extensions import Buffer

from dray.formats.wal_v1 import PlacedChunk
from dray.ids import StreamId, WalId
from dray.index import IndexEntry, ParquetEntry, WalEntry
from dray.log.deps import LogMetrics
from dray.log.row_groups import Opened, RowGroups
from dray.log.stages import SealedChunk
from dray.objects.cached import Cached
from dray.objects.port import ByteRange, ObjectError, OutOfRange
from dray.runtime import ByteBudget, Tasks

_READING_AHEAD_MAX = 64
"""Prefetches of all readers together."""
_READ_WHOLE_BYTES_MAX = 256 * 1024
"""The latency of a bucket exceeds the transfer of so many bytes."""
_WHOLE_BYTES_MAX = 1 << 20
_WHOLE_TIMES_MAX = 8
"""Up to that size an object is read whole if it is at most this many times as large as the chunk."""

_RecentChunk = tuple[int, tuple[int, ...], tuple[memoryview, ...]]
"""Length, and the positions and bytes of the batches; most chunks are never read, so they are not mapped."""
BatchesAt = Mapping[int, memoryview]
"""Batches by their position in the chunk."""


class RecentChunks:
    """Batches that this process committed a moment ago, for readers at the tail.

    They are the received buffers themselves, so keeping them copies nothing. The oldest are evicted first;
    what is not here is read from object storage.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._chunks: OrderedDict[tuple[WalId, StreamId], _RecentChunk] = OrderedDict()

    def keep(self, wal_id: WalId, chunk: SealedChunk, placed: PlacedChunk) -> None:
        batches = tuple([batch for batch, _, _ in chunk.pendings])
        self._chunks[wal_id, chunk.stream] = (placed.chunk_length, placed.batch_offsets, batches)
        self._bytes += placed.chunk_length
        while self._bytes > self._max_bytes:
            _, (size, _, _) = self._chunks.popitem(last=False)
            self._bytes -= size

    def get(self, wal_id: WalId, stream: StreamId) -> BatchesAt | None:
        found = self._chunks.get((wal_id, stream))
        return None if found is None else dict(zip(found[1], found[2], strict=True))

    @property
    def size_bytes(self) -> int:
        return self._bytes


class BoundedReads:
    """Reads of objects through a cache, with bounded bytes in flight; cached ranges take no budget."""

    def __init__(self, cached: Cached, budget: ByteBudget) -> None:
        self._cached = cached
        self._budget = budget

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        missing = sum(wanted.length for wanted in ranges if not self._cached.holds(path, wanted))
        if not missing:
            return await self._cached.get_ranges(path, ranges)
        await self._budget.acquire(missing)
        try:
            return await self._cached.get_ranges(path, ranges)
        finally:
            self._budget.release(missing)


class Chunks:
    """Opens the batches that an index entry points to."""

    def __init__(
        self,
        recent: RecentChunks,
        cached: Cached,
        groups: RowGroups,
        *,
        reads: BoundedReads,
        tasks: Tasks,
        metrics: LogMetrics,
    ) -> None:
        self._recent = recent
        self._groups = groups
        self._reads = reads
        self._cached = cached
        self._tasks = tasks
        self._from_recent = metrics.chunk_reads.labels("recent")
        self._from_cache = metrics.chunk_reads.labels("cache")
        self._from_objects = metrics.chunk_reads.labels("objects")
        self._reading_ahead = 0
        self._prefetching: set[tuple[str, int]] = set()

    def cached(self, entry: IndexEntry, offset: int) -> Opened | None:
        """Return the part of `entry` that holds `offset` if it is in memory.

        Of a Parquet file, the next row group is prefetched.
        """
        if isinstance(entry, ParquetEntry):
            held_group = self._groups.cached(entry, offset)
            if held_group is not None:
                self._from_cache.inc()
            return held_group
        recent = self._recent.get(entry.wal_id, entry.stream)
        if recent is not None:
            self._from_recent.inc()
            return Opened(entry.start_offset, entry.end_offset, entry.rows, lambda row: recent[row.position])
        span = self._span(entry)
        held = self._cached.find(entry.wal_path, span)
        if held is None:
            return None
        self._from_cache.inc()
        return _opened(entry, span, held)

    async def open(self, entry: IndexEntry, offset: int) -> Opened:
        """Return the part of `entry` that holds `offset`, reading what is not in memory."""
        cached = self.cached(entry, offset)
        if cached is not None:
            return cached
        if isinstance(entry, ParquetEntry):
            self._from_objects.inc()
            return await self._groups.open(entry, offset)
        span = self._span(entry)
        on_its_way = self._cached.holds(entry.wal_path, span)
        (self._from_cache if on_its_way else self._from_objects).inc()
        try:
            read = await self._read(entry.wal_path, span)
        except OutOfRange:
            whole, span = span, _chunk_span(entry)
            if span == whole:
                raise
            # The object is shorter than it was; the chunk may still be there.
            read = await self._read(entry.wal_path, span)
        return _opened(entry, span, read)

    def forget(self, entry: IndexEntry) -> None:
        """Drop cached ranges of the entry's object: they are damaged, and the object may be restored."""
        self._cached.forget(entry.path)

    def prefetch(self, entries: Iterable[IndexEntry], offset: int) -> None:
        """Start to read what is not in memory: these entries will be opened next, from `offset` on."""
        for entry in entries:
            if self._reading_ahead >= _READING_AHEAD_MAX:
                return
            if isinstance(entry, ParquetEntry):
                self._groups.prefetch(entry, max(entry.start_offset, offset))
            elif self._recent.get(entry.wal_id, entry.stream) is None:
                self._read_ahead(entry.wal_path, self._span(entry))

    def _span(self, entry: WalEntry) -> ByteRange:
        """Return what to read; it is the same for all chunks of an object that is read whole."""
        if _better_whole(entry) and self._cached.keeps(entry.wal_bytes):
            return ByteRange(0, entry.wal_bytes)
        return _chunk_span(entry)

    async def _read(self, path: str, span: ByteRange) -> Buffer:
        (read,) = await self._reads.get_ranges(path, [span])
        return read

    def _read_ahead(self, path: str, span: ByteRange) -> None:
        """Prefetch a span once: until its task has begun to read, the cache does not know of it."""
        place = (path, span.start)
        if (
            place in self._prefetching
            or self._cached.holds(path, span)
            or not self._cached.keeps(span.length)
        ):
            return
        self._reading_ahead += 1
        self._prefetching.add(place)
        task = self._tasks.start(self._warm(path, span), name="read-ahead")
        task.add_done_callback(partial(self._warmed, place))

    async def _warm(self, path: str, span: ByteRange) -> None:
        with suppress(ObjectError):  # a reader that needs the chunk will raise it
            await self._read(path, span)

    def _warmed(self, place: tuple[str, int], _: object) -> None:
        self._prefetching.discard(place)
        self._reading_ahead -= 1


def _opened(entry: WalEntry, span: ByteRange, read: Buffer) -> Opened:
    at = entry.chunk_offset - span.start
    chunk = memoryview(read)[at : at + entry.chunk_length]
    return Opened(
        entry.start_offset,
        entry.end_offset,
        entry.rows,
        lambda row: chunk[row.position : row.position + row.length],
        unverified=True,
    )


def _chunk_span(entry: WalEntry) -> ByteRange:
    return ByteRange(entry.chunk_offset, entry.chunk_length)


def _better_whole(entry: WalEntry) -> bool:
    """Return whether to read the whole object; a size too small for the chunk means that it is unknown."""
    size = entry.wal_bytes
    if size > _WHOLE_BYTES_MAX or size < entry.chunk_offset + entry.chunk_length:
        return False
    return size <= _READ_WHOLE_BYTES_MAX or size <= _WHOLE_TIMES_MAX * entry.chunk_length
