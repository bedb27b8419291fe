"""The read path: from a stream and an offset to batches that can be sent.

    head ─▶ index entry ─▶ chunk (own recent ones, else one range read) ─▶ batches with their offsets

A cached entry may point to an object that was deleted meanwhile, because its records were compacted or
trimmed. Then the index is asked again; only an entry that is still there and points to nothing is damage. If
it is a Parquet file that is gone, the compactor is told, which may find its records in the table.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from typing_extensions import Buffer

from dray.ids import StreamId
from dray.index import (
    CorruptValue,
    IndexEntry,
    ParquetEntry,
    StreamHead,
    covers,
    decode_entry,
    entries_after,
)
from dray.log.chunks import Chunks
from dray.log.errors import (
    RESTORE_METADATA,
    LogDamaged,
    LogError,
    OffsetOutOfRange,
    entry_damaged,
)
from dray.log.heads import Heads
from dray.log.index_cache import IndexCache, entry_bytes
from dray.log.missing import MissingNotes
from dray.log.opened import Opened
from dray.log.row_groups import GroupUnreadable
from dray.log.stages import pins_too_much
from dray.meta.port import Domain, MetaError, MetaStore
from dray.objects.port import NotFound, ObjectError, OutOfRange
from dray.records import GAP_SPAN_MAX, claimed_bytes, gap_batch, served

LEADER_EPOCH = 0
"""The one leader epoch there ever is: streams have no leaders."""
_ENTRIES_READ = 32
_ENTRIES_READ_MAX = 256
_ENTRIES_BYTES = 256 * 1024
_LOOKUPS_MAX = 3


@dataclass(slots=True)
class Slice:
    """Batches of one stream, ready to be sent: `parts` one after the other are whole batches."""

    head: StreamHead
    next_offset: int
    parts: list[Buffer] = field(default_factory=list)
    size_bytes: int = 0


def let_go(slices: Sequence[Slice]) -> None:
    """Copy the parts of slices if together they would keep much larger buffers alive until they are sent.

    Together, because one object that was read whole holds batches of many streams.
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
        domain: Domain,
        *,
        meta: MetaStore,
        heads: Heads,
        index: IndexCache,
        chunks: Chunks,
        readahead: int,
    ) -> None:
        self._domain = domain
        self._meta = meta
        self._heads = heads
        self._index = index
        self._chunks = chunks
        self._readahead = readahead
        self._missing = MissingNotes(meta, domain)

    async def read(self, stream: StreamId, offset: int, max_bytes: int, *, whole_first: bool = True) -> Slice:
        """Return batches from the one that holds `offset` on, up to `max_bytes`.

        With `whole_first` the first one is returned however large it is.
        """
        head = await self._head_for(stream, offset)
        if not head.log_start <= offset <= head.high_watermark:
            raise OffsetOutOfRange(stream, offset, head.log_start, head.high_watermark)
        found = Slice(head, offset)
        must_fit = not whole_first
        while found.next_offset < head.high_watermark and (found.size_bytes < max_bytes or not must_fit):
            try:
                run = await self._run(stream, found.next_offset, max_bytes - found.size_bytes)
                if not await self._take(found, run, max_bytes, must_fit=must_fit):
                    break
            except (LogError, MetaError, ObjectError, CorruptValue):
                if not found.parts:
                    raise
                break  # what was found is good; who reads on meets the trouble
            must_fit = must_fit or bool(found.parts)
        if not found.parts and found.next_offset > offset:
            _bridge(found, offset, max_bytes, must_fit=not whole_first)
        if found.parts and found.next_offset < head.high_watermark and self._readahead:
            await self._look_ahead(stream, found, max_bytes)
        return found

    async def locate(self, stream: StreamId, offset: int) -> Opened:
        """Return the stretch of batches that holds a committed offset."""
        _, opened = await self._open(await self.entry_at(stream, offset), offset)
        return opened

    async def _run(self, stream: StreamId, offset: int, size_bytes: int) -> Sequence[IndexEntry]:
        """Return entries at hand that hold so many bytes from `offset` on; at least one."""
        first = await self.entry_at(stream, offset)
        return [first, *self._index.following(first, size_bytes - first.came_bytes)]

    async def _look_ahead(self, stream: StreamId, found: Slice, size_bytes: int) -> None:
        """Have at hand the entries that will be needed next, and send for what they name.

        Done when the answer is complete, so that it does not wait for chunks that nobody has asked for yet.
        """
        with suppress(LogError, MetaError, CorruptValue):  # who reads on meets the trouble
            run = await self._run(stream, found.next_offset, size_bytes)
            end, held = run[-1].end_offset, sum(entry.came_bytes for entry in run)
            if held < size_bytes and end < found.head.high_watermark:
                await self.entry_at(stream, end)
        self._send_ahead(stream, found.next_offset, size_bytes)

    def _send_ahead(self, stream: StreamId, offset: int, size_bytes: int) -> None:
        """Send for what will be asked for next: as much as was asked for now, and some chunks at least.

        The first one does not count: who reads on may have had a part of it.
        """
        first = self._index.find(stream, offset)
        if first is None or not self._readahead:
            return
        by_size = self._index.following(first, size_bytes)
        by_count = self._index.following(first, count=self._readahead - 1)
        self._chunks.send_for([first, *max(by_size, by_count, key=len)], offset)

    async def _take(self, found: Slice, run: Sequence[IndexEntry], max_bytes: int, *, must_fit: bool) -> bool:
        """Add batches of the entries, up to the high watermark; false when no more fits."""
        for number, expected in enumerate(run):
            entry = expected
            while found.next_offset < min(entry.end_offset, found.head.high_watermark):
                opened = self._chunks.at_hand(entry, found.next_offset)
                if opened is None:
                    self._chunks.send_for(run[number + 1 :], found.next_offset)
                    self._send_ahead(entry.stream, run[-1].end_offset, max_bytes)
                    entry, opened = await self._open(entry, found.next_offset)
                if not _fill(found, entry, opened, max_bytes, must_fit=must_fit):
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
                raise entry_damaged(entry, f"it is too short: {error}") from error
            except GroupUnreadable as error:
                raise entry_damaged(entry, str(error)) from error
        if isinstance(entry, ParquetEntry):
            await self._missing.leave(entry)
        raise entry_damaged(entry, "there is no such object")

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
        """Choose how many entries to read: more for who reads on from others, as long as those are small."""
        before = self._index.find(stream, offset - 1)
        if before is None:
            return _ENTRIES_READ
        return max(_ENTRIES_READ, min(_ENTRIES_READ_MAX, _ENTRIES_BYTES // entry_bytes(before)))

    async def _head_for(self, stream: StreamId, offset: int) -> StreamHead:
        head = self._heads.known(stream)
        if head is None or not head.log_start <= offset < head.high_watermark:
            head = await self._heads.fresh(stream)
        return head


def _bridge(found: Slice, offset: int, max_bytes: int, *, must_fit: bool) -> None:
    """Let who asked for an offset that has no record go on behind the gap."""
    end = min(found.next_offset, offset + GAP_SPAN_MAX)
    batch = gap_batch(offset, end - 1, LEADER_EPOCH)
    if not must_fit or len(batch) <= max_bytes:
        found.parts.append(batch)
        found.size_bytes += len(batch)
        found.next_offset = end


def _fill(found: Slice, entry: IndexEntry, opened: Opened, max_bytes: int, *, must_fit: bool) -> bool:
    """Add batches from the next offset on; false when no more fits.

    Compaction cuts batches anew. If it came in between, the next one may begin with records that were added
    already; not every client would leave those out, so it is for the next read.
    """
    base = opened.start_offset
    for row in opened.rows.reaching(found.next_offset - base):
        if found.parts and base + row.start_delta < found.next_offset:
            return False
        if must_fit and found.size_bytes + row.length > max_bytes:
            return False
        must_fit = True
        batch = opened.batch_of(row)
        if len(batch) != row.length or claimed_bytes(batch) != row.length:
            at = row.position if isinstance(entry, ParquetEntry) else entry.chunk_offset + row.position
            raise entry_damaged(entry, f"there is no batch of {row.length} bytes at byte {at}")
        found.parts += served(batch, base + row.start_delta, LEADER_EPOCH)
        found.size_bytes += row.length
        found.next_offset = base + row.last_delta + 1
    found.next_offset = opened.end_offset
    return True
