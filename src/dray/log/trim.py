"""Removal of the beginning of a stream, and of whole streams.

Two steps, each atomic. First the head moves the log start: from then on nothing before it is read. Then the
entries before the start are removed, a few at a time, each together with its reference to a WAL object or
Parquet file. The removal checks each entry's version, so a reference is released exactly once, however often
and by however many processes it is attempted. A process that dies in between leaves entries that the next
trim or the sweep removes.
"""

from collections.abc import Sequence

import msgspec

from dray.ids import MetaDomain, StreamId
from dray.index import decode_entry, decode_head, encode_head
from dray.keyspace import contended_key, entries_until, head_key, key_compacted_key, log_domain, producers_key
from dray.log.commit_limits import entries_per_removal
from dray.log.errors import OffsetOutOfRange, StreamUnknown
from dray.log.plan import StreamState, with_snapshot
from dray.log.references import References
from dray.log.settings import LogSettings
from dray.log.states import read_state
from dray.meta.port import Check, Conflict, Delete, Entry, MetaStore, Put, Write
from dray.runtime import Clock

_ENTRIES_AT_ONCE = 32
_EVERYTHING = (1 << 63) - 1


class Trimmer:
    """Removes the beginnings of one domain's streams."""

    def __init__(self, meta: MetaStore, domain: MetaDomain, clock: Clock, settings: LogSettings) -> None:
        self._meta = meta
        self._store_domain = log_domain(domain)
        self._clock = clock
        self._settings = settings
        self._entries_at_once = entries_per_removal(meta.limits, _ENTRIES_AT_ONCE)
        self._references = References(meta, domain, clock, settings)

    async def trim(self, stream: StreamId, before: int) -> int:
        """Remove everything before an offset; returns the new log start."""
        start = await self._move_start(stream, before)
        await self.remove_entries(stream, start)
        return start

    async def delete(self, stream: StreamId) -> None:
        """Delete a whole stream; raises `StreamUnknown` if there is none."""
        await self.condemn(stream)
        await self.finish_deletion(stream)

    async def condemn(self, stream: StreamId) -> None:
        """End appends to a stream and reads of it; raises `StreamUnknown` if there is none.

        What is left of it can be removed later.
        """
        key = head_key(stream)
        while True:
            stored = await self._meta.get(self._store_domain, key)
            if stored is None:
                raise StreamUnknown(stream)
            head = decode_head(key, stored.value)
            deleted = msgspec.structs.replace(head, log_start=head.high_watermark, deleted=True)
            if head.deleted or await self._put_head(stream, StreamState(deleted, stored.version, {}), []):
                return

    async def finish_deletion(self, stream: StreamId) -> None:
        """Remove what is left of a stream whose head says it is deleted, the head last."""
        key = head_key(stream)
        stored = await self._meta.get(self._store_domain, key)
        if stored is None or not decode_head(key, stored.value).deleted:
            return  # another process finished it
        await self.remove_entries(stream, _EVERYTHING)
        await self._meta.commit(
            self._store_domain,
            [Check(key, stored.version)],
            [Delete(own(stream)) for own in (producers_key, key_compacted_key, contended_key, head_key)],
        )

    async def remove_entries(self, stream: StreamId, before: int) -> None:
        """Remove the entries that lie wholly before an offset that is no longer readable."""
        while True:
            start, end = entries_until(stream, before)
            stored = await self._meta.scan(self._store_domain, start, end, limit=self._entries_at_once)
            if not stored:
                return
            await self._remove(stored)

    async def _move_start(self, stream: StreamId, before: int) -> int:
        while True:
            state = await read_state(self._meta, self._store_domain, stream)
            head = state.head
            if before > head.high_watermark:
                raise OffsetOutOfRange(stream, before, head.log_start, head.high_watermark)
            if before <= head.log_start:
                return head.log_start
            if await self._put_head(stream, *self._started_at(stream, state, before)):
                return before

    def _started_at(
        self, stream: StreamId, state: StreamState, log_start: int
    ) -> tuple[StreamState, list[Put]]:
        """Producer state may depend on entries that are about to be removed: snapshot it first."""
        head = msgspec.structs.replace(state.head, log_start=log_start)
        moved = StreamState(head, state.version, state.producers)
        if not head.unsnapshotted or log_start <= head.snapshot_end:
            return moved, []
        moved, put = with_snapshot(stream, moved, self._clock.now_ms(), self._settings)
        return moved, [put]

    async def _put_head(self, stream: StreamId, state: StreamState, extra_writes: Sequence[Write]) -> bool:
        key = head_key(stream)
        result = await self._meta.commit(
            self._store_domain,
            [Check(key, state.version)],
            [*extra_writes, Put(key, encode_head(state.head))],
        )
        return not isinstance(result, Conflict)

    async def _remove(self, stored: Sequence[Entry]) -> None:
        entries = [decode_entry(found.key, found.value) for found in stored]
        checks = [Check(found.key, found.version) for found in stored]
        writes: list[Write] = [Delete(found.key) for found in stored]
        released_checks, released_writes = await self._references.released(entries, in_table=True)
        # A conflict means that another process removed some of them; the caller scans again.
        await self._meta.commit(self._store_domain, [*checks, *released_checks], [*writes, *released_writes])
