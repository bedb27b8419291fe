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
    rows = []
    delta, oldest, newest = 0, batches[0].min_timestamp_ms, batches[0].max_timestamp_ms
    for position, length, count, first_ms, latest_ms, *producer in batches:
        after = delta + count
        rows.append(pack_row((delta, after - 1, position, length, first_ms, latest_ms, *producer)))
        delta, oldest, newest = after, min(oldest, first_ms), max(newest, latest_ms)
    end = start + delta
    running_max = max(head.max_timestamp_ms, newest)
    size = head.cumulative_size + chunk.length
    entry = WalEntry(
        stream=chunk.stream,
        start_offset=start,
        end_offset=end,
        cumulative_size=size,
        created_at_ms=created_at_ms,
        record_count=end - start,
        min_timestamp_ms=oldest,
        max_timestamp_ms=newest,
        running_max_timestamp_ms=running_max,
        wal_id=chunk.wal_id,
        wal_path=chunk.wal_path,
        chunk_offset=chunk.offset,
        chunk_length=chunk.length,
        packed_rows=b"".join(rows),
        wal_bytes=chunk.wal_bytes,
    )
    grown = msgspec.structs.replace(
        head, high_watermark=end, cumulative_size=size, max_timestamp_ms=running_max
    )
    return grown, entry
