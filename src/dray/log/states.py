"""Cached stream states: loaded from the store, advanced by this process's commits.

When another broker commits to a stream, its state is dropped. A state is only used under a check of its
head's version, so a stale one costs a conflict, never a wrong commit. The head is read first and the rest
after it: if the head is unchanged at the commit, so is the rest.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable

from dray.ids import Domain, StreamId
from dray.index import (
    CorruptValue,
    IndexEntry,
    ParquetEntry,
    StreamHead,
    decode_entry,
    decode_head,
    encode_head,
)
from dray.keyspace import entries_after, head_key, producers_key
from dray.log.errors import RESTORE_METADATA, LogDamaged, LogError, StreamUnknown
from dray.log.plan import StreamState, with_snapshot
from dray.log.settings import LogSettings
from dray.meta.port import Check, Conflict, MetaStore, Put, Version
from dray.producers import (
    NO_PRODUCER,
    CorruptSnapshot,
    ProducerBatch,
    ProducerState,
    accepted,
    decode_snapshot,
)
from dray.runtime import Clock

_STREAMS_MAX = 50_000


class StreamStates:
    """The states of one domain's streams."""

    def __init__(self, meta: MetaStore, domain: Domain) -> None:
        self._meta = meta
        self._domain = domain
        self._states: OrderedDict[StreamId, StreamState] = OrderedDict()
        self._own_versions: OrderedDict[tuple[str, Version], None] = OrderedDict()

    async def load(self, streams: Iterable[StreamId]) -> dict[StreamId, StreamState | LogError]:
        """Return the state of each stream, from the cache or the store, or the error that prevents it."""
        missing = [stream for stream in streams if stream not in self._states]
        read = dict(zip(missing, await asyncio.gather(*map(self._read, missing)), strict=True))
        # A cached one may have been dropped meanwhile; whichever is used, the commit checks its version.
        return {
            stream: read.get(stream) or self._states.get(stream) or await self._read(stream)
            for stream in streams
        }

    async def _read(self, stream: StreamId) -> StreamState | LogError:
        try:
            state = await read_state(self._meta, self._domain, stream)
        except LogError as error:
            return error  # fails this stream only, not the others of the same object
        self.keep(stream, state)
        return state

    def keep(self, stream: StreamId, state: StreamState) -> None:
        """Keep a state; the streams that were read first are evicted first.

        Moving a stream to the end on every commit would cost more than reading an evicted one again.
        """
        self._states[stream] = state
        if len(self._states) > _STREAMS_MAX:
            self._states.popitem(last=False)

    def forget(self, streams: Iterable[StreamId]) -> None:
        for stream in streams:
            self._states.pop(stream, None)

    def record_own_commit(self, stream: StreamId, key: str, state: StreamState) -> None:
        """Keep the state after a commit of this process; the watch event for its key will be ignored."""
        self.keep(stream, state)
        self._own_versions[key, state.version] = None
        if len(self._own_versions) > _STREAMS_MAX:
            self._own_versions.popitem(last=False)

    def is_own(self, key: str, version: Version) -> bool:
        """Return whether this process wrote that version of a head, and recorded it; true only once."""
        return self._own_versions.pop((key, version), False) is None

    def forget_all(self) -> None:
        self._states.clear()
        self._own_versions.clear()


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

    Parquet entries have no producers: they are older than the snapshot, or their batches had none.
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


async def write_snapshot(
    meta: MetaStore, domain: Domain, stream: StreamId, clock: Clock, settings: LogSettings
) -> None:
    """Snapshot producer state up to the end of the stream: no entry before it must be replayed any more.

    Raises `StreamUnknown`.
    """
    while True:
        state = await read_state(meta, domain, stream)
        if state.head.snapshot_end == state.head.high_watermark:
            return
        written, put = with_snapshot(stream, state, clock.now_ms(), settings)
        key = head_key(stream)
        head = Put(key, encode_head(written.head))
        if not isinstance(await meta.commit(domain, [Check(key, state.version)], [put, head]), Conflict):
            return
