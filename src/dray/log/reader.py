"""The read path: from a stream and an offset to batches that can be sent.

    head ─▶ index entry ─▶ chunk (own recent ones, else one range read) ─▶ batches with their offsets

A cached entry may point to an object that was deleted meanwhile, because its records were compacted or
trimmed. Then the index is asked again; only an entry that is still there and points to nothing is damage.
"""

from dataclasses import dataclass, field

from typing_extensions import Buffer

from dray.ids import StreamId
from dray.index import CorruptValue, IndexEntry, StreamHead, covers, decode_entry, entries_after
from dray.log.chunks import BatchOf, Chunks
from dray.log.errors import (
    RESTORE_METADATA,
    LogDamaged,
    LogError,
    OffsetOutOfRange,
    restore_object,
)
from dray.log.heads import Heads
from dray.log.index_cache import IndexCache
from dray.log.stages import pins_too_much
from dray.meta.port import Domain, MetaError, MetaStore
from dray.objects.port import NotFound, ObjectError, OutOfRange
from dray.records import claimed_bytes, served

LEADER_EPOCH = 0
"""The one leader epoch there ever is: streams have no leaders."""
_ENTRIES_READ = 32
_LOOKUPS_MAX = 3


@dataclass(slots=True)
class Slice:
    """Batches of one stream, ready to be sent: `parts` one after the other are whole batches."""

    head: StreamHead
    next_offset: int
    parts: list[Buffer] = field(default_factory=list)
    size_bytes: int = 0

    def let_go(self) -> None:
        """Copy the parts if they would keep much larger buffers alive until they are sent."""
        held = {id(view.obj): view for view in self.parts if isinstance(view, memoryview)}
        if pins_too_much(sum(memoryview(view.obj).nbytes for view in held.values()), self.size_bytes):
            self.parts = [b"".join(self.parts)]


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
                entry, batch_of = await self.locate(stream, found.next_offset)
                if not _fill(found, entry, batch_of, max_bytes, must_fit=must_fit):
                    break
            except (LogError, MetaError, ObjectError, CorruptValue):
                if not found.parts:
                    raise
                break  # what was found is good; who reads on meets the trouble
            must_fit = True
        found.let_go()
        return found

    async def locate(self, stream: StreamId, offset: int) -> tuple[IndexEntry, BatchOf]:
        """Return the entry that covers a committed offset, and a way to its batches."""
        entry = await self.entry_at(stream, offset)
        for _ in range(_LOOKUPS_MAX):
            try:
                following = self._index.following(entry, self._readahead)
                return entry, await self._chunks.open(entry, following)
            except NotFound:
                self._index.drop(stream)
                missing, entry = entry, await self.entry_at(stream, offset)
                if entry == missing:
                    break
            except OutOfRange as error:
                raise _unreadable(entry, f"it is too short: {error}") from error
        raise _unreadable(entry, "there is no such object")

    async def entry_at(self, stream: StreamId, offset: int, *, ahead: int = _ENTRIES_READ) -> IndexEntry:
        """Return the entry that covers a committed offset; up to `ahead` entries are read with it."""
        entry = self._index.find(stream, offset)
        if entry is not None:
            return entry
        start, end = entries_after(stream, offset)
        stored = await self._meta.scan(self._domain, start, end, limit=ahead)
        entries = [decode_entry(found.key, found.value) for found in stored]
        for found in entries:
            self._index.add(found)
        if entries and covers(entries[0], offset):
            return entries[0]
        head = await self._heads.fresh(stream)
        if offset < head.log_start:
            raise OffsetOutOfRange(stream, offset, head.log_start, head.high_watermark)
        raise LogDamaged(f"stream {stream:016x} has no index entry for its offset {offset}", RESTORE_METADATA)

    async def _head_for(self, stream: StreamId, offset: int) -> StreamHead:
        head = self._heads.known(stream)
        if head is None or not head.log_start <= offset < head.high_watermark:
            head = await self._heads.fresh(stream)
        return head


def _unreadable(entry: IndexEntry, why: str) -> LogDamaged:
    where = f"stream {entry.stream:016x}: offsets {entry.start_offset} to {entry.end_offset}"
    return LogDamaged(
        f"{where} are in {entry.wal_path}, and {why}", restore_object(entry.wal_path, entry.end_offset)
    )


def _fill(found: Slice, entry: IndexEntry, batch_of: BatchOf, max_bytes: int, *, must_fit: bool) -> bool:
    """Add the entry's batches from the next offset on; false when no more fits."""
    rows = entry.rows
    for number in range(rows.first_reaching(found.next_offset - entry.start_offset), len(rows)):
        row = rows[number]
        if must_fit and found.size_bytes + row.length > max_bytes:
            return False
        must_fit = True
        batch = batch_of(row)
        if len(batch) != row.length or claimed_bytes(batch) != row.length:
            at = entry.chunk_offset + row.position
            raise _unreadable(entry, f"there is no batch of {row.length} bytes at byte {at}")
        found.parts.extend(served(batch, entry.start_offset + row.start_delta, LEADER_EPOCH))
        found.size_bytes += row.length
        found.next_offset = entry.start_offset + row.last_delta + 1
    return True
