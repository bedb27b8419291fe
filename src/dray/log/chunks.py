"""Chunks of WAL objects, from wherever they can be had soonest.

Bytes that are being read are bounded; when that many are on their way, readers wait.

Own recent ones are in memory. Others are range-read, through a cache in which readers of one chunk share one
read. Who reads a chunk from object storage is catching up, so the next ones are sent for at the same time.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from dray.index import BatchRow, IndexEntry
from dray.log.metrics import LogMetrics
from dray.log.recent import RecentChunks
from dray.objects.cached import Cached
from dray.objects.port import ByteRange, ObjectError
from dray.runtime import ByteBudget, Tasks

_READING_AHEAD_MAX = 64
"""Chunks of all readers together."""

BatchOf = Callable[[BatchRow], memoryview]


class Chunks:
    """Opens the chunk of an index entry."""

    def __init__(
        self, recent: RecentChunks, cached: Cached, reading: ByteBudget, tasks: Tasks, metrics: LogMetrics
    ) -> None:
        self._recent = recent
        self._reading = reading
        self._cached = cached
        self._tasks = tasks
        self._metrics = metrics
        self._reading_ahead = 0
        self._sent_for: set[tuple[str, int]] = set()

    async def open(self, entry: IndexEntry, following: Iterable[IndexEntry]) -> BatchOf:
        """Return a way from a row of `entry` to its batch; those `following` will be asked for next."""
        recent = self._recent.get(entry.wal_id, entry.stream)
        if recent is not None:
            self._metrics.chunk_reads.labels("recent").inc()
            return lambda row: recent[row.position]
        for soon in following:
            self._read_ahead(soon)
        wanted = ByteRange(entry.chunk_offset, entry.chunk_length)
        source = "cache" if self._cached.holds(entry.wal_path, wanted) else "objects"
        self._metrics.chunk_reads.labels(source).inc()
        chunk = await self._read(entry)
        return lambda row: chunk[row.position : row.position + row.length]

    async def _read(self, entry: IndexEntry) -> memoryview:
        wanted = ByteRange(entry.chunk_offset, entry.chunk_length)
        if self._cached.holds(entry.wal_path, wanted):
            (chunk,) = await self._cached.get_ranges(entry.wal_path, [wanted])
            return memoryview(chunk)
        await self._reading.acquire(wanted.length)
        try:
            (chunk,) = await self._cached.get_ranges(entry.wal_path, [wanted])
        finally:
            self._reading.release(wanted.length)
        return memoryview(chunk)

    def _read_ahead(self, entry: IndexEntry) -> None:
        """Send for a chunk once: a task just started has not begun its read, and the cache knows nothing."""
        place = (entry.wal_path, entry.chunk_offset)
        if place in self._sent_for or self._reading_ahead >= _READING_AHEAD_MAX:
            return
        if self._recent.get(entry.wal_id, entry.stream):
            return
        wanted = ByteRange(entry.chunk_offset, entry.chunk_length)
        if self._cached.keeps(wanted) and not self._cached.holds(entry.wal_path, wanted):
            self._reading_ahead += 1
            self._sent_for.add(place)
            task = self._tasks.start(self._warm(entry), name="read-ahead")
            task.add_done_callback(partial(self._warmed, place))

    async def _warm(self, entry: IndexEntry) -> None:
        with suppress(ObjectError):  # whoever really needs it will meet the error and report it
            await self._read(entry)

    def _warmed(self, place: tuple[str, int], _: object) -> None:
        self._sent_for.discard(place)
        self._reading_ahead -= 1
