"""What the commit of a bulk load says in one domain: offsets for all that its tasks have stored. Pure.

A load's objects are larger than a broker's, and may hold one stream alone. An index entry is read as a whole,
so a chunk is cut into *stretches*: batches that lie one behind the other, of a size that a fetch can afford.
Tasks make the entries, as of an empty stream; the commit only moves them to where the stream ends. That
takes microseconds an entry, and it must: whoever commits to the streams meanwhile makes it begin anew.

Batches of a load have no producer, so there is nobody to judge; but if entries before them wait to be
replayed, the commit takes the snapshot that makes an end of it, or every reader of producer state would go
through the whole load.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    entry_key,
    head_key,
    object_key,
)
from dray.log.plan import StreamState, with_snapshot
from dray.log.settings import LogSettings
from dray.meta.port import Check, Put, Write

STRETCH_BYTES: Final = 4 << 20


class LoadedObject(msgspec.Struct, frozen=True, array_like=True):
    """A WAL object of a load that is durable; nobody can see it yet."""

    wal_id: WalId
    path: str
    domain: MetaDomain
    size_bytes: int
    entries: tuple[WalEntry, ...]
    """Each as the first of its stream would be."""


class Given(NamedTuple):
    """The offsets that a stream gave to a load."""

    start: int
    end: int


@dataclass(slots=True)
class BulkPlan:
    """Everything that one commit checks and writes besides the load's own record."""

    checks: list[Check] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    given: dict[StreamId, Given] = field(default_factory=dict)


def entries_of(
    chunk: Chunk, batches: Iterable[BatchDraft], size_bytes: int = STRETCH_BYTES
) -> list[WalEntry]:
    """Return the entries of a chunk, of which `batches` are all; their positions count from its start."""
    return [
        assign(StreamHead(), stretch, cut, created_at_ms=0)[1]
        for stretch, cut in _stretches(chunk, batches, size_bytes)
    ]


def _stretches(
    chunk: Chunk, batches: Iterable[BatchDraft], size_bytes: int
) -> Iterator[tuple[Chunk, list[BatchDraft]]]:
    start, cut = 0, list[BatchDraft]()
    for batch in batches:
        if cut and batch.position + batch.length - start > size_bytes:
            yield _stretch(chunk, start, cut)
            start, cut = _end(cut), []
        cut.append(batch)
    yield _stretch(chunk, start, cut)


def _stretch(chunk: Chunk, start: int, cut: Sequence[BatchDraft]) -> tuple[Chunk, list[BatchDraft]]:
    part = replace(chunk, offset=chunk.offset + start, length=_end(cut) - start)
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
            plan.writes.append(Put(object_key(domain, wal.wal_id), encode_object(record)))
    for stream, state in states.items():
        if heads[stream] is not state.head:
            plan.given[stream] = Given(state.head.high_watermark, heads[stream].high_watermark)
            grown = StreamState(heads[stream], state.version, state.producers)
            _write_head(plan, stream, grown, now_ms, settings)
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
    grown = msgspec.structs.replace(head, high_watermark=end, cumulative_size=size, max_timestamp_ms=newest)
    return grown, moved


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
