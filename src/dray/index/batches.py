"""Batch index inside an index entry: one packed, fixed-width row per batch.

Rows are packed because a broker caches many entries but reads few of their rows; they are unpacked on access.
A row holds the batch's position in the stream's chunk, its offsets and timestamps, and its producer id, epoch
and sequence, so that producer state can be rebuilt from the index alone.

A chunk may contain batches without a row: duplicate and out-of-sequence batches are detected only when
offsets are assigned, after the object was written. They are never visible.
"""

from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter
from struct import Struct
from typing import NamedTuple

ROW_FORMAT = ">IIIIqqqhi"
_ROW = Struct(ROW_FORMAT)
ROW_BYTES = _ROW.size


class BatchRow(NamedTuple):
    """One batch of an entry."""

    start_delta: int
    """First offset, relative to the entry's start."""
    last_delta: int
    """Last offset, relative to the entry's start."""
    position: int
    """Start of the batch, relative to the start of the chunk."""
    length: int
    min_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int


_last_delta = attrgetter("last_delta")


class BatchRows:
    """Read-only view of an entry's packed rows."""

    __slots__ = ("_packed",)

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    def __len__(self) -> int:
        return len(self._packed) // ROW_BYTES

    def __getitem__(self, number: int) -> BatchRow:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return BatchRow._make(_ROW.unpack_from(self._packed, number * ROW_BYTES))

    def __iter__(self) -> Iterator[BatchRow]:
        return map(BatchRow._make, _ROW.iter_unpack(self._packed))

    def reaching(self, delta: int) -> Iterator[BatchRow]:
        """Iterate over the rows from the first one whose last offset is at or after `delta`."""
        first = bisect_left(self, delta, key=_last_delta) if delta > 0 else 0
        return map(BatchRow._make, _ROW.iter_unpack(memoryview(self._packed)[first * ROW_BYTES :]))


def pack_row(row: tuple[int, ...]) -> bytes:
    """Pack the fields of a `BatchRow`, which need not be made for it."""
    return _ROW.pack(*row)
