"""Stream states at hand: loaded from the store, grown by own commits, dropped when somebody else commits.

A state is only ever used under a check of its head's version, so a stale one costs a lost commit, never a
wrong one. The head is read first and the rest after it: if the head is still the same at the commit, so is
the rest.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable

from dray.ids import StreamId
from dray.index import (
    CorruptValue,
    IndexEntry,
    ParquetEntry,
    StreamHead,
    decode_entry,
    decode_head,
    entries_after,
    head_key,
    producers_key,
)
from dray.log.errors import RESTORE_METADATA, LogDamaged, LogError, StreamUnknown
from dray.log.plan import StreamState
from dray.meta.port import Domain, MetaStore, Version
from dray.producers import (
    NO_PRODUCER,
    CorruptSnapshot,
    ProducerBatch,
    ProducerState,
    accepted,
    decode_snapshot,
)

_STREAMS_MAX = 50_000


class StreamStates:
    """The states of one domain's streams."""

    def __init__(self, meta: MetaStore, domain: Domain) -> None:
        self._meta = meta
        self._domain = domain
        self._states: OrderedDict[StreamId, StreamState] = OrderedDict()
        self._untold: OrderedDict[tuple[StreamId, Version], None] = OrderedDict()

    async def load(self, streams: Iterable[StreamId]) -> dict[StreamId, StreamState | LogError]:
        """Return a state for each stream, read from the store where none is at hand, or why there is none."""
        missing = [stream for stream in streams if stream not in self._states]
        read = dict(zip(missing, await asyncio.gather(*map(self._read, missing)), strict=True))
        # Some at hand may have been dropped meanwhile: a state is as good as the check of its version.
        return {
            stream: read.get(stream) or self._states.get(stream) or await self._read(stream)
            for stream in streams
        }

    async def _read(self, stream: StreamId) -> StreamState | LogError:
        try:
            state = await read_state(self._meta, self._domain, stream)
        except LogError as error:
            return error  # one stream's trouble; the others of the same object go on
        self.keep(stream, state)
        return state

    def keep(self, stream: StreamId, state: StreamState) -> None:
        self._states[stream] = state
        self._states.move_to_end(stream)
        if len(self._states) > _STREAMS_MAX:
            self._states.popitem(last=False)

    def forget(self, streams: Iterable[StreamId]) -> None:
        for stream in streams:
            self._states.pop(stream, None)

    def adopt(self, stream: StreamId, state: StreamState) -> None:
        """Keep what an own commit made true; when the store tells of that commit later, it is no news."""
        self.keep(stream, state)
        self._untold[stream, state.version] = None
        if len(self._untold) > _STREAMS_MAX:
            self._untold.popitem(last=False)

    def is_own(self, stream: StreamId, version: Version) -> bool:
        """Whether this version of the head was made by an own commit that was taken over."""
        return self._untold.pop((stream, version), False) is None

    def forget_all(self) -> None:
        self._states.clear()
        self._untold.clear()


async def read_state(meta: MetaStore, domain: Domain, stream: StreamId) -> StreamState:
    """Read a stream's state; raises `StreamUnknown` or `LogDamaged`."""
    try:
        head, version = await read_head(meta, domain, stream)
        return StreamState(head, version, await _read_producers(meta, domain, stream, head))
    except (CorruptValue, CorruptSnapshot) as error:
        raise LogDamaged(f"stream {stream:016x} cannot be used: {error}", RESTORE_METADATA) from error


async def read_head(meta: MetaStore, domain: Domain, stream: StreamId) -> tuple[StreamHead, Version]:
    """Read a stream's head alone; raises `StreamUnknown` or `CorruptValue`."""
    stored = await meta.get(domain, head_key(stream))
    if stored is None:
        raise StreamUnknown(stream)
    head = decode_head(stored.key, stored.value)
    if head.deleted:
        raise StreamUnknown(stream)
    return head, stored.version


async def _read_producers(
    meta: MetaStore, domain: Domain, stream: StreamId, head: StreamHead
) -> dict[int, ProducerState]:
    snapshot = await meta.get(domain, producers_key(stream))
    producers = {} if snapshot is None else decode_snapshot(snapshot.value)
    if head.unsnapshotted:
        start, end = entries_after(stream, head.snapshot_end)
        for found in await meta.scan(domain, start, end):
            replay(producers, decode_entry(found.key, found.value))
    return producers


def replay(producers: dict[int, ProducerState], entry: IndexEntry) -> None:
    """Apply the batches of a committed entry to a table being rebuilt.

    What lies in Parquet has no producers: it was older than the snapshot, or came without any.
    """
    if isinstance(entry, ParquetEntry):
        return
    for row in entry.rows:
        if row.producer_id <= NO_PRODUCER:
            continue
        batch = ProducerBatch(
            row.producer_id, row.producer_epoch, row.base_sequence, row.last_delta - row.start_delta + 1
        )
        producers[row.producer_id] = accepted(
            producers.get(row.producer_id),
            batch,
            base_offset=entry.start_offset + row.start_delta,
            timestamp_ms=row.max_timestamp_ms,
            now_ms=entry.created_at_ms,
        )
