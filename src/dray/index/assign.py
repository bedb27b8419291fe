"""Offset assignment: the next entry of a stream, and the head after it."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from dray.ids import StreamId, WalId
from dray.index.batches import pack_row
from dray.index.entry import StreamHead, WalEntry


class BatchDraft(NamedTuple):
    """The facts of a stored batch that offset assignment needs."""

    position: int
    length: int
    offset_count: int
    min_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int


class Chunk(msgspec.Struct, frozen=True):
    """Location of one stream's batches in a WAL object."""

    stream: StreamId
    wal_id: WalId
    wal_path: str
    offset: int
    length: int
    wal_bytes: int = 0
    """Size of the whole object; 0 if unknown."""


def assign(
    head: StreamHead, chunk: Chunk, batches: Sequence[BatchDraft], created_at_ms: int
) -> tuple[StreamHead, WalEntry]:
    """Assign the next offsets of the stream to the batches, in order.

    The batches are those of the chunk that become visible; there is at least one. The whole length of the
    chunk counts towards the stream's size, even if only some of its batches become visible.
    """
    start = head.high_watermark
    rows, end = _number(start, batches)
    newest = max([batch.max_timestamp_ms for batch in batches])
    running_max = max(head.max_timestamp_ms, newest)
    size = head.cumulative_size + chunk.length
    entry = WalEntry(
        stream=chunk.stream,
        start_offset=start,
        end_offset=end,
        cumulative_size=size,
        created_at_ms=created_at_ms,
        record_count=end - start,
        min_timestamp_ms=min([batch.min_timestamp_ms for batch in batches]),
        max_timestamp_ms=newest,
        running_max_timestamp_ms=running_max,
        wal_id=chunk.wal_id,
        wal_path=chunk.wal_path,
        chunk_offset=chunk.offset,
        chunk_length=chunk.length,
        packed_rows=rows,
        wal_bytes=chunk.wal_bytes,
    )
    grown = msgspec.structs.replace(
        head, high_watermark=end, cumulative_size=size, max_timestamp_ms=running_max
    )
    return grown, entry


def _number(start: int, batches: Sequence[BatchDraft]) -> tuple[bytes, int]:
    rows = []
    delta = 0
    for batch in batches:
        after = delta + batch.offset_count
        rows.append(pack_row((delta, after - 1, batch.position, batch.length, *batch[3:])))
        delta = after
    return b"".join(rows), start + delta
