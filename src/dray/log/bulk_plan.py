"""Plan of a bulk load's commit in one domain: offsets for everything that its tasks have stored. Pure.

A load's objects are larger than a broker's, and may hold one stream alone. An index entry is read as a whole,
so a chunk is cut into ranges: consecutive batches, of a size that a fetch can afford. Tasks make the entries,
as of an empty stream; the commit only moves them to the end of the stream. It must take only microseconds per
entry, because any concurrent commit to the streams restarts it.

Batches of a load have no producer, so there is no sequence to check. But if earlier entries wait to be
replayed, the commit takes the producer snapshot; otherwise every reader of producer state would go through
the whole load.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from dray.ids import MetaDomain, StreamId, WalId
from dray.index import (
    BatchDraft,
    Chunk,
    StreamHead,
    WalEntry,
    WalObject,
    assign,
    encode_entry,
    encode_head,
    encode_object,
)
from dray.keyspace import entry_key, head_key, wal_object_key
from dray.log.plan import StreamState, with_snapshot
from dray.log.settings import LogSettings
from dray.meta.port import Check, Put, Write

RANGE_BYTES: Final = 4 << 20


class LoadedObject(msgspec.Struct, frozen=True, array_like=True):
    """A WAL object of a load that is durable and not visible yet."""

    wal_id: WalId
    path: str
    domain: MetaDomain
    size_bytes: int
    entries: tuple[WalEntry, ...]
    """Each as if it were the first of its stream."""


class AssignedOffsets(NamedTuple):
    """The offsets that a load was assigned in one stream."""

    start: int
    end: int


@dataclass(slots=True)
class BulkPlan:
    """Everything that one commit checks and writes besides the load's own record."""

    checks: list[Check] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    assigned: dict[StreamId, AssignedOffsets] = field(default_factory=dict)


def entries_of(chunk: Chunk, batches: Iterable[BatchDraft], size_bytes: int = RANGE_BYTES) -> list[WalEntry]:
    """Return the entries of a chunk that consists of `batches`; positions count from its start."""
    return [
        assign(StreamHead(), part, cut, created_at_ms=0)[1]
        for part, cut in _ranges(chunk, batches, size_bytes)
    ]


def _ranges(
    chunk: Chunk, batches: Iterable[BatchDraft], size_bytes: int
) -> Iterator[tuple[Chunk, list[BatchDraft]]]:
    start, cut = 0, list[BatchDraft]()
    for batch in batches:
        if cut and batch.position + batch.length - start > size_bytes:
            yield _range(chunk, start, cut)
            start, cut = _end(cut), []
        cut.append(batch)
    yield _range(chunk, start, cut)


def _range(chunk: Chunk, start: int, cut: Sequence[BatchDraft]) -> tuple[Chunk, list[BatchDraft]]:
    part = msgspec.structs.replace(chunk, offset=chunk.offset + start, length=_end(cut) - start)
    return part, [batch._replace(position=batch.position - start) for batch in cut]


def _end(cut: Sequence[BatchDraft]) -> int:
    return cut[-1].position + cut[-1].length


def plan_bulk(
    domain: MetaDomain,
    objects: Iterable[LoadedObject],
    states: Mapping[StreamId, StreamState],
    *,
    now_ms: int,
    settings: LogSettings,
) -> BulkPlan:
    """Plan the commit of `objects`, in that order; streams that have no state are left out."""
    plan = BulkPlan()
    heads = {stream: state.head for stream, state in states.items()}
    for wal in objects:
        known = [entry for entry in wal.entries if entry.stream in heads]
        for entry in known:
            heads[entry.stream], moved = _moved(heads[entry.stream], entry, now_ms)
            key = entry_key(moved.stream, moved.end_offset, moved.cumulative_size)
            plan.writes.append(Put(key, encode_entry(moved)))
        if known:
            record = WalObject(wal.path, len(known), now_ms, wal.size_bytes)
            plan.writes.append(Put(wal_object_key(domain, wal.wal_id), encode_object(record)))
    for stream, state in states.items():
        if heads[stream] is not state.head:
            plan.assigned[stream] = AssignedOffsets(state.head.high_watermark, heads[stream].high_watermark)
            appended = StreamState(heads[stream], state.version, state.producers)
            _write_head(plan, stream, appended, now_ms, settings)
    return plan


def _moved(head: StreamHead, entry: WalEntry, now_ms: int) -> tuple[StreamHead, WalEntry]:
    """Put an entry at the end of its stream."""
    end = head.high_watermark + entry.end_offset
    size = head.cumulative_size + entry.chunk_length
    newest = max(head.max_timestamp_ms, entry.max_timestamp_ms)
    moved = msgspec.structs.replace(
        entry,
        start_offset=head.high_watermark,
        end_offset=end,
        cumulative_size=size,
        created_at_ms=now_ms,
        running_max_timestamp_ms=newest,
    )
    appended = msgspec.structs.replace(
        head, high_watermark=end, cumulative_size=size, max_timestamp_ms=newest
    )
    return appended, moved


def _write_head(
    plan: BulkPlan, stream: StreamId, state: StreamState, now_ms: int, settings: LogSettings
) -> None:
    head = msgspec.structs.replace(state.head, snapshot_end=state.head.high_watermark)
    if head.unsnapshotted:
        state, put = with_snapshot(stream, state, now_ms, settings)
        plan.writes.append(put)
        head = state.head
    plan.checks.append(Check(head_key(stream), state.version))
    plan.writes.append(Put(head_key(stream), encode_head(head)))
