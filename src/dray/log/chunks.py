"""What index entries point to, from wherever it can be had soonest.

Bytes that are being read are bounded; when that many are on their way, readers wait.

Own recent chunks are in memory. Others are read through a cache in which readers of one range share one
read. Who reads a chunk from object storage is catching up, so the next ones are sent for at the same time.

What is read is the *span* of a chunk: the whole object where that is small, for a request costs more than its
bytes then, and whoever reads one of its streams mostly reads the others; else the chunk alone. Parquet files
are read by row groups (`groups`).
"""

from collections.abc import Iterable
from contextlib import suppress
from functools import partial

from typing_extensions import Buffer

from dray.index import IndexEntry, ParquetEntry, WalEntry
from dray.log.bounded_reads import BoundedReads
from dray.log.metrics import LogMetrics
from dray.log.opened import Opened
from dray.log.recent import RecentChunks
from dray.log.row_groups import RowGroups
from dray.objects.cached import Cached
from dray.objects.port import ByteRange, ObjectError, OutOfRange
from dray.runtime import Tasks

_READING_AHEAD_MAX = 64
"""Reads for all readers together."""
_WHOLE_ANYWAY_BYTES_MAX = 256 * 1024
"""A bucket takes longer to answer than to send so much."""
_WHOLE_BYTES_MAX = 1 << 20
_WHOLE_TIMES_MAX = 8
"""Up to that size an object is read whole if the chunk is no less than this part of it."""


class Chunks:
    """Opens what an index entry points to."""

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
        self._sent_for: set[tuple[str, int]] = set()

    def at_hand(self, entry: IndexEntry, offset: int) -> Opened | None:
        """Return the stretch of `entry` that holds `offset` if that needs no reading; of a Parquet file, the
        next row group is sent for."""
        if isinstance(entry, ParquetEntry):
            held_group = self._groups.at_hand(entry, offset)
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
        """Return the stretch of `entry` that holds `offset`, and read what is not at hand."""
        at_hand = self.at_hand(entry, offset)
        if at_hand is not None:
            return at_hand
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

    def send_for(self, entries: Iterable[IndexEntry], offset: int) -> None:
        """Begin to read what is not at hand: these will be opened next, from `offset` on."""
        for entry in entries:
            if self._reading_ahead >= _READING_AHEAD_MAX:
                return
            if isinstance(entry, ParquetEntry):
                self._groups.send_for(entry, max(entry.start_offset, offset))
            elif self._recent.get(entry.wal_id, entry.stream) is None:
                self._read_ahead(entry.wal_path, self._span(entry))

    def _span(self, entry: WalEntry) -> ByteRange:
        """Choose what to read; it is the same for all chunks of an object that is read whole."""
        if _better_whole(entry) and self._cached.keeps(entry.wal_bytes):
            return ByteRange(0, entry.wal_bytes)
        return _chunk_span(entry)

    async def _read(self, path: str, span: ByteRange) -> Buffer:
        (read,) = await self._reads.get_ranges(path, [span])
        return read

    def _read_ahead(self, path: str, span: ByteRange) -> None:
        """Send for a span once: a task just started has not begun its read, and the cache knows nothing."""
        place = (path, span.start)
        if place in self._sent_for or self._cached.holds(path, span) or not self._cached.keeps(span.length):
            return
        self._reading_ahead += 1
        self._sent_for.add(place)
        task = self._tasks.start(self._warm(path, span), name="read-ahead")
        task.add_done_callback(partial(self._warmed, place))

    async def _warm(self, path: str, span: ByteRange) -> None:
        with suppress(ObjectError):  # whoever really needs it will meet the error and report it
            await self._read(path, span)

    def _warmed(self, place: tuple[str, int], _: object) -> None:
        self._sent_for.discard(place)
        self._reading_ahead -= 1


def _opened(entry: WalEntry, span: ByteRange, read: Buffer) -> Opened:
    at = entry.chunk_offset - span.start
    chunk = memoryview(read)[at : at + entry.chunk_length]
    return Opened(
        entry.start_offset,
        entry.end_offset,
        entry.rows,
        lambda row: chunk[row.position : row.position + row.length],
    )


def _chunk_span(entry: WalEntry) -> ByteRange:
    return ByteRange(entry.chunk_offset, entry.chunk_length)


def _better_whole(entry: WalEntry) -> bool:
    """Whether to read the whole object; nobody knows how large it is if it is too small for the chunk."""
    size = entry.wal_bytes
    if size > _WHOLE_BYTES_MAX or size < entry.chunk_offset + entry.chunk_length:
        return False
    return size <= _WHOLE_ANYWAY_BYTES_MAX or size <= _WHOLE_TIMES_MAX * entry.chunk_length
