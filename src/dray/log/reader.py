"""The read path: from a stream and an offset to batches that can be sent.

    head ─▶ index entry ─▶ chunk (own recent one, else one range read) ─▶ batches with their offsets

A cached entry may point to an object that was deleted meanwhile, because its records were compacted or
trimmed. The index is then read again; only an entry that still exists and points to nothing is damage. If a
Parquet file is missing, a note is left for maintenance, which may restore the records from the table.

A batch from object storage is served only if its checksum holds: clients may be configured not to verify it.
Nothing damaged stays in a cache, so that readers continue as soon as the object is restored.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from typing_extensions import Buffer

from dray.ids import MetaDomain, StreamId
from dray.index import CorruptValue, IndexEntry, ParquetEntry, StreamHead, covers, decode_entry
from dray.keyspace import entries_after, log_domain
from dray.log.chunks import Chunks
from dray.log.errors import (
    RESTORE_METADATA,
    LogDamaged,
    LogError,
    OffsetOutOfRange,
    batch_damaged,
    entry_damaged,
)
from dray.log.heads import Heads
from dray.log.index_cache import IndexCache, entry_bytes
from dray.log.missing import MissingFileHints
from dray.log.row_groups import GroupUnreadable, Opened
from dray.log.stages import is_stored, pins_too_much
from dray.meta.port import MetaError, MetaStore
from dray.objects.port import NotFound, ObjectError, OutOfRange
from dray.records import EMPTY_BATCH_SPAN_MAX, empty_batch, with_offsets

LEADER_EPOCH = 0
"""The only leader epoch: streams have no leaders."""
_ENTRIES_READ = 32
_ENTRIES_READ_MAX = 256
_ENTRIES_BYTES = 256 * 1024
_LOOKUPS_MAX = 3


@dataclass(slots=True)
class FetchSlice:
    """Batches of one stream, ready to be sent: `parts` in sequence are whole batches."""

    head: StreamHead
    next_offset: int
    parts: list[Buffer] = field(default_factory=list)
    size_bytes: int = 0


def detach_buffers(slices: Sequence[FetchSlice]) -> None:
    """Copy the parts of slices if they would keep much larger buffers alive until they are sent.

    All slices of a response together, because an object that was read whole holds batches of many streams.
    """
    held = {id(part.obj): part.obj for one in slices for part in one.parts if isinstance(part, memoryview)}
    pinned = sum(memoryview(buffer).nbytes for buffer in held.values())
    if pins_too_much(pinned, sum(one.size_bytes for one in slices)):
        for one in slices:
            one.parts[:] = [b"".join(one.parts)]


class DomainReader:
    """Reads the streams of one domain."""

    def __init__(
        self,
        domain: MetaDomain,
        *,
        meta: MetaStore,
        heads: Heads,
        index: IndexCache,
        chunks: Chunks,
        readahead: int,
    ) -> None:
        self._domain = log_domain(domain)
        self._meta = meta
        self._heads = heads
        self._index = index
        self._chunks = chunks
        self._readahead = readahead
        self._missing = MissingFileHints(meta, domain)

    async def read(
        self,
        stream: StreamId,
        offset: int,
        max_bytes: int,
        *,
        whole_first: bool = True,
        caught_up: bool = False,
    ) -> FetchSlice:
        """Return batches from the one that holds `offset` on, up to `max_bytes`.

        With `whole_first` the first one is returned however large it is; with `caught_up` a cached head is
        good enough to answer that there is nothing more.
        """
        head = self._heads.known(stream) if caught_up else None
        head = head or await self._head_for(stream, offset)
        if not head.log_start <= offset <= head.high_watermark:
            raise OffsetOutOfRange(stream, offset, head.log_start, head.high_watermark)
        found = FetchSlice(head, offset)
        must_fit = not whole_first
        while found.next_offset < head.high_watermark and (found.size_bytes < max_bytes or not must_fit):
            try:
                run = await self._run(stream, found.next_offset, max_bytes - found.size_bytes)
                if not await self._take(found, run, max_bytes, must_fit=must_fit):
                    break
            except (LogError, MetaError, ObjectError, CorruptValue):
                if not found.parts:
                    raise
                break  # what was found is good; the next read raises the error
            must_fit = must_fit or bool(found.parts)
        if not found.parts and found.next_offset > offset:
            _bridge(found, offset, max_bytes, must_fit=not whole_first)
        if found.parts and found.next_offset < head.high_watermark and self._readahead:
            await self._read_ahead(stream, found, max_bytes)
        return found

    async def locate(self, stream: StreamId, offset: int) -> tuple[IndexEntry, Opened]:
        """Return the entry and the range of batches that hold a committed offset."""
        return await self._open(await self.entry_at(stream, offset), offset)

    async def _run(self, stream: StreamId, offset: int, size_bytes: int) -> Sequence[IndexEntry]:
        """Return cached entries that hold so many bytes from `offset` on; at least one."""
        first = await self.entry_at(stream, offset)
        return [first, *self._index.following(first, size_bytes - first.ingested_bytes)]

    async def _read_ahead(self, stream: StreamId, found: FetchSlice, size_bytes: int) -> None:
        """Load the entries that will be needed next, and prefetch what they point to.

        Called when the response is complete, so that it does not wait for chunks that it does not need.
        """
        with suppress(LogError, MetaError, CorruptValue):  # the next read raises the error
            run = await self._run(stream, found.next_offset, size_bytes)
            end, held = run[-1].end_offset, sum(entry.ingested_bytes for entry in run)
            if held < size_bytes and end < found.head.high_watermark:
                await self.entry_at(stream, end)
        self._prefetch_after(stream, found.next_offset, size_bytes)

    def _prefetch_after(self, stream: StreamId, offset: int, size_bytes: int) -> None:
        """Prefetch what will be read next: as much as was read now, and at least some chunks.

        The first one does not count: the reader may have had a part of it.
        """
        first = self._index.find(stream, offset)
        if first is None or not self._readahead:
            return
        by_size = self._index.following(first, size_bytes)
        by_count = self._index.following(first, count=self._readahead - 1)
        self._chunks.prefetch([first, *max(by_size, by_count, key=len)], offset)

    async def _take(
        self, found: FetchSlice, run: Sequence[IndexEntry], max_bytes: int, *, must_fit: bool
    ) -> bool:
        """Add batches of the entries, up to the high watermark; false when no more fits."""
        for number, expected in enumerate(run):
            entry = expected
            while found.next_offset < min(entry.end_offset, found.head.high_watermark):
                opened = self._chunks.cached(entry, found.next_offset)
                if opened is None:
                    self._chunks.prefetch(run[number + 1 :], found.next_offset)
                    self._prefetch_after(entry.stream, run[-1].end_offset, max_bytes)
                    entry, opened = await self._open(entry, found.next_offset)
                try:
                    filled = _fill(found, entry, opened, max_bytes, must_fit=must_fit)
                except LogDamaged:
                    self.forget(entry)
                    raise
                if not filled:
                    return False
                must_fit = must_fit or bool(found.parts)
            if entry is not expected:
                break  # the others are out of date as well
        return True

    async def _open(self, entry: IndexEntry, offset: int) -> tuple[IndexEntry, Opened]:
        for _ in range(_LOOKUPS_MAX):
            try:
                return entry, await self._chunks.open(entry, offset)
            except NotFound:
                self._index.drop(entry.stream)
                missing, entry = entry, await self.entry_at(entry.stream, offset)
                if entry == missing:
                    break
            except OutOfRange as error:
                self.forget(entry)
                raise entry_damaged(entry, f"the object is truncated: {error}") from error
            except GroupUnreadable as error:
                self.forget(entry)
                raise entry_damaged(entry, str(error)) from error
        if isinstance(entry, ParquetEntry):
            await self._missing.record(entry)
        raise entry_damaged(entry, "there is no such object")

    def forget(self, entry: IndexEntry) -> None:
        """Drop what is cached of a damaged entry, so that the next read finds it restored or compacted."""
        self._chunks.forget(entry)
        self._index.drop(entry.stream)

    async def entry_at(self, stream: StreamId, offset: int, *, ahead: int | None = None) -> IndexEntry:
        """Return the entry that covers a committed offset; up to `ahead` entries are read with it."""
        entry = self._index.find(stream, offset)
        if entry is not None:
            return entry
        start, end = entries_after(stream, offset)
        mark = self._index.mark()
        stored = await self._meta.scan(
            self._domain, start, end, limit=ahead or self._entries_wanted(stream, offset)
        )
        entries = [decode_entry(found.key, found.value) for found in stored]
        for found in entries:
            self._index.add(found, mark)
        if entries and covers(entries[0], offset):
            return entries[0]
        head = await self._heads.fresh(stream)
        if offset < head.log_start:
            raise OffsetOutOfRange(stream, offset, head.log_start, head.high_watermark)
        raise LogDamaged(f"stream {stream:016x} has no index entry for its offset {offset}", RESTORE_METADATA)

    def _entries_wanted(self, stream: StreamId, offset: int) -> int:
        """Return how many entries to read: more for a sequential reader, as long as entries are small."""
        before = self._index.find(stream, offset - 1)
        if before is None:
            return _ENTRIES_READ
        return max(_ENTRIES_READ, min(_ENTRIES_READ_MAX, _ENTRIES_BYTES // entry_bytes(before)))

    async def _head_for(self, stream: StreamId, offset: int) -> StreamHead:
        head = self._heads.known(stream)
        if head is None or not head.log_start <= offset < head.high_watermark:
            head = await self._heads.fresh(stream)
        return head


def _bridge(found: FetchSlice, offset: int, max_bytes: int, *, must_fit: bool) -> None:
    """Add an empty batch for offsets without records, so that the reader can continue after them."""
    end = min(found.next_offset, offset + EMPTY_BATCH_SPAN_MAX)
    batch = empty_batch(offset, end - 1, LEADER_EPOCH)
    if not must_fit or len(batch) <= max_bytes:
        found.parts.append(batch)
        found.size_bytes += len(batch)
        found.next_offset = end


def _fill(found: FetchSlice, entry: IndexEntry, opened: Opened, max_bytes: int, *, must_fit: bool) -> bool:
    """Add batches from the next offset on; false when no more fits.

    Compaction encodes records into other batches. After a swap the next batch may begin with records that
    were added already; not every client would skip those, so that batch is left to the next read.
    """
    base = opened.start_offset
    for row in opened.rows.reaching(found.next_offset - base):
        if found.parts and base + row.start_delta < found.next_offset:
            return False
        if must_fit and found.size_bytes + row.length > max_bytes:
            return False
        must_fit = True
        batch = opened.batch_of(row)
        if opened.unverified and not is_stored(batch, row):
            raise batch_damaged(entry, row)
        found.parts += with_offsets(batch, base + row.start_delta, LEADER_EPOCH)
        found.size_bytes += row.length
        found.next_offset = base + row.last_delta + 1
    found.next_offset = opened.end_offset
    return True
