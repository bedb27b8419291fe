"""Stages of a batch on its way to being acknowledged, one type per stage.

    Pending ─seal─▶ Sealed ─object durable─▶ Stored ─index committed─▶ acknowledged

Only a `Stored` object can be planned into a commit, and only a committed plan can acknowledge: the types
encode the order of durability. Buffers belong to the connection that received them and are never changed;
they are held until the batch is acknowledged, and a while longer in the memory of recent chunks.
"""

from asyncio import Future
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from dray.formats.wal_v1 import ChunkDraft, PlacedChunk
from dray.ids import StreamId, WalId
from dray.index import BatchDraft, BatchRow
from dray.meta.port import Version
from dray.records import HEADER_BYTES, NO_TIMESTAMP, BatchHeader, is_intact
from dray.records.header import OFFSETS_TO_SEQUENCE

BATCH_OVERHEAD_BYTES = 1024
"""Approximate memory of a batch besides its bytes: header, future, index row, list slots."""
_PINNED_TIMES_MAX = 4
_PINNED_BYTES_MAX = 64 * 1024


def own_memory(batch: memoryview, together_bytes: int = 0) -> memoryview:
    """Return the batch itself, or a copy if it would keep a much larger buffer alive.

    A batch is a view into its request. Usually that is mostly batches; where it is not, a few accounted bytes
    would hold megabytes. `together_bytes` are all batches of the buffer that are kept.
    """
    if pins_too_much(memoryview(batch.obj).nbytes, max(len(batch), together_bytes)):
        return memoryview(bytes(batch))
    return batch


def pins_too_much(pinned: int, used: int) -> bool:
    """Return whether a view of `used` bytes keeps so many alive that a copy is cheaper."""
    return pinned > max(_PINNED_TIMES_MAX * used, _PINNED_BYTES_MAX)


class Appended(NamedTuple):
    """Position of an appended batch."""

    base_offset: int
    log_start: int
    duplicate: bool = False
    """The batch had been committed before; nothing was added."""
    newest_ms: int = NO_TIMESTAMP
    """Of a duplicate: the greatest timestamp of the batch as it was committed."""


class Pending(NamedTuple):
    """A valid batch and the future of its outcome."""

    batch: memoryview
    header: BatchHeader
    done: "Future[Appended]"


class Reservation(NamedTuple):
    """A WAL object that only this process may write, with its staging marker."""

    wal_id: WalId
    path: str
    marker: Version
    created_at_ms: int


class SealedChunk(msgspec.Struct, frozen=True):
    """The batches of one stream, in the order they came."""

    stream: StreamId
    pendings: Sequence[Pending]

    def draft(self) -> ChunkDraft:
        first, *others = self.pendings
        header = first.header
        count, earliest, latest = header.record_count, first_timestamp(header), header.max_timestamp
        for _, header, _ in others:
            count += header.record_count
            earliest = min(earliest, first_timestamp(header))
            latest = max(latest, header.max_timestamp)
        return ChunkDraft(self.stream, [batch for batch, _, _ in self.pendings], count, earliest, latest)

    def batch_drafts(self, placed: PlacedChunk) -> list[BatchDraft]:
        return [
            batch_draft(pending.header, position)
            for pending, position in zip(self.pendings, placed.batch_offsets, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Sealed:
    """The content of one WAL object: chunks sorted by stream."""

    chunks: tuple[SealedChunk, ...]
    size_bytes: int
    batch_count: int

    @property
    def held_bytes(self) -> int:
        """What it takes of the budget."""
        return self.size_bytes + self.batch_count * BATCH_OVERHEAD_BYTES


@dataclass(frozen=True, slots=True)
class Stored:
    """A WAL object that is durable and not visible yet."""

    sealed: Sealed
    reservation: Reservation
    size_bytes: int
    placed: tuple[PlacedChunk, ...]
    """Parallel to `sealed.chunks`."""


def batch_draft(header: BatchHeader, position: int) -> BatchDraft:
    """Return what the index holds of a batch that is stored at this position of its chunk."""
    return BatchDraft(
        position,
        header.size_bytes,
        header.last_offset_delta + 1,
        first_timestamp(header),
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
    )


def is_indexed(batch: memoryview, row: BatchRow) -> bool:
    """Return whether a batch read from an object has the header that its index row was made from.

    A batch with another header may be intact, but is another one: its object was overwritten by another
    object or restored from the wrong backup.
    """
    if len(batch) != row.length or len(batch) < HEADER_BYTES:
        return False
    found = OFFSETS_TO_SEQUENCE.unpack_from(batch)
    return (
        found[2:] == row[5:]
        and min(found[1:3]) == row.min_timestamp_ms
        and found[0] == row.last_delta - row.start_delta
    )


def is_stored(batch: memoryview, row: BatchRow) -> bool:
    """As `is_indexed`, and the checksum holds."""
    return is_intact(batch) and is_indexed(batch, row)


def first_timestamp(header: BatchHeader) -> int:
    """Return the earliest time of the header; under log-append time that is the append time."""
    first, latest = header.base_timestamp, header.max_timestamp
    return min(latest, first)
