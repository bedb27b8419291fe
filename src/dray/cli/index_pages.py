"""A stream's head and index entries: read from the metadata store, shown as text or JSON."""

from dataclasses import dataclass
from typing import Final

import msgspec

from dray.cli.failure import Failure
from dray.cli.instants import iso
from dray.cli.tables import table
from dray.cluster.identity import RECORD_KEY
from dray.cluster.identity_plan import ClusterRecord
from dray.cluster.keys import CLUSTER_DOMAIN, topic_key
from dray.cluster.topics import Topic
from dray.ids import MetaDomain, StreamId, meta_domain
from dray.index import (
    CorruptValue,
    IndexEntry,
    ParquetEntry,
    StreamHead,
    decode_entry,
    decode_head,
    domain_name,
    entries_after,
    head_key,
)
from dray.meta.port import Domain, MetaStore

_COLUMNS: Final = ("start", "end", "records", "parts", "max time", "bytes", "at", "object")


@dataclass(frozen=True, slots=True)
class ShownIndex:
    """What was found of a stream; `more` says that entries were left out at the end."""

    stream: StreamId
    domain: MetaDomain
    head: StreamHead
    entries: list[IndexEntry]
    more: bool


async def stream_of(meta: MetaStore, topic: str, partition: int) -> StreamId:
    """Return the stream of a partition."""
    key = topic_key(topic)
    found = await meta.get(CLUSTER_DOMAIN, key)
    if found is None:
        raise Failure(f"there is no topic '{topic}'")
    try:
        streams = msgspec.msgpack.decode(found.value, type=Topic).streams
    except msgspec.DecodeError as error:
        raise CorruptValue(f"{key} does not hold a topic: {error}") from error
    if partition >= len(streams):
        raise Failure(
            f"there is no partition {partition}; topic '{topic}' has {len(streams)}, counted from 0"
        )
    return streams[partition]


async def read_index(meta: MetaStore, stream: StreamId, offset: int, limit: int) -> ShownIndex:
    """Return the head, and entries from the one that covers `offset` on."""
    number = meta_domain(stream, await _domains(meta))
    domain = Domain(domain_name(number))
    key = head_key(stream)
    found = await meta.get(domain, key)
    if found is None:
        raise Failure(f"there is no stream {stream:016x}")
    entries = await meta.scan(domain, *entries_after(stream, offset), limit=limit + 1)
    return ShownIndex(
        stream,
        number,
        decode_head(key, found.value),
        [decode_entry(entry.key, entry.value) for entry in entries[:limit]],
        len(entries) > limit,
    )


async def _domains(meta: MetaStore) -> int:
    """Return how many domains the cluster was made with; settings may say something else."""
    found = await meta.get(CLUSTER_DOMAIN, RECORD_KEY)
    if found is None:
        raise Failure("the metadata store holds no cluster")
    try:
        return msgspec.json.decode(found.value, type=ClusterRecord).domains
    except msgspec.DecodeError as error:
        raise CorruptValue(f"{RECORD_KEY} does not hold a cluster: {error}") from error


def as_json(shown: ShownIndex) -> dict[str, object]:
    return {
        "stream": f"{shown.stream:016x}",
        "domain": shown.domain,
        "head": msgspec.structs.asdict(shown.head),
        "entries": [_entry_json(entry) for entry in shown.entries],
        "more": shown.more,
    }


def _entry_json(entry: IndexEntry) -> dict[str, object]:
    return {
        "start_offset": entry.start_offset,
        "end_offset": entry.end_offset,
        "records": entry.record_count,
        "min_timestamp_ms": entry.min_timestamp_ms,
        "max_timestamp_ms": entry.max_timestamp_ms,
        "created_at_ms": entry.created_at_ms,
        "cumulative_size": entry.cumulative_size,
        "object": entry.path,
        **_place_json(entry),
    }


def _place_json(entry: IndexEntry) -> dict[str, object]:
    if isinstance(entry, ParquetEntry):
        return {"size_bytes": entry.size_bytes, "row_groups": [row._asdict() for row in entry.groups]}
    return {
        "chunk_offset": entry.chunk_offset,
        "chunk_length": entry.chunk_length,
        "batches": [row._asdict() for row in entry.rows],
    }


def as_text(shown: ShownIndex) -> str:
    head = shown.head
    lines = [
        f"stream {shown.stream:016x} in domain {shown.domain}{', deleted' if head.deleted else ''}",
        f"  begins at {head.log_start}, next offset {head.high_watermark}",
        f"  {head.cumulative_size} bytes ever written, newest record {iso(head.max_timestamp_ms)}",
    ]
    if shown.entries:
        lines += [f"  {line}" for line in table(_COLUMNS, [_row(entry) for entry in shown.entries])]
    if shown.more:
        lines.append(f"  … more behind offset {shown.entries[-1].end_offset - 1}: --from, --limit")
    return "\n".join(lines)


def _row(entry: IndexEntry) -> tuple[object, ...]:
    if isinstance(entry, ParquetEntry):
        pieces, length, position = len(entry.groups), entry.size_bytes, 0
    else:
        pieces, length, position = len(entry.rows), entry.chunk_length, entry.chunk_offset
    return (
        entry.start_offset,
        entry.end_offset,
        entry.record_count,
        pieces,
        iso(entry.max_timestamp_ms),
        length,
        position,
        entry.path,
    )
