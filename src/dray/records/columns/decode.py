"""Decoding of stored record batches to Arrow columns.

Batches are collected until they hold about `chunk_bytes` once decompressed, then read by two calls of the
kernel into columns that are allocated exactly. Nothing is kept between chunks.

Offsets in Arrow's binary columns have 32 bits. They cannot overflow: a chunk is at most `CHUNK_BYTES_MAX`
and one batch more, and a batch is at most `READ_BYTES_MAX` once decompressed; Latin-1 at most doubles
that.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from dray.records.columns import decode_kernel as kernel
from dray.records.columns.errors import OversizedBatch, UnconvertibleBatch
from dray.records.columns.filling import Filling, Numbers
from dray.records.columns.opened import READ_BYTES_MAX, OpenedBatch, StoredBatch, opened

CHUNK_BYTES: Final = 4 * 1024 * 1024
CHUNK_BYTES_MAX: Final = 512 * 1024 * 1024

_FAULTS: Final = {
    kernel.ENDS_EARLY: "fewer records than the header counts",
    kernel.RECORD_LENGTH: "its length is negative or exceeds the batch",
    kernel.FIELD_LENGTH: "a field exceeds the record, or a varint is malformed",
    kernel.HEADER_COUNT: "its header count is negative or exceeds its bytes",
    kernel.HEADER_KEY_NULL: "a header key is null",
    kernel.LENGTH_DIFFERS: "its fields do not add up to its length",
    kernel.OFFSET_ORDER: "its offset delta does not increase or exceeds lastOffsetDelta",
    kernel.BYTES_LEFT: "bytes remain after the last record",
    kernel.TIMESTAMP_RANGE: "its timestamp overflows microseconds",
    kernel.RECORD_ATTRIBUTES: "it has attributes of its own, which no column holds",
}


class Decoded(NamedTuple):
    """The records of some batches as rows, and the batches whose records are not among them.

    Together they cover all batches that were passed in, except those without records of producers (control
    batches, and batches that count none). `unconvertible` ascends by `base_offset`; each is one whole batch,
    from `base_offset` to `last_offset` as in the index, with the reason in `message`. A caller that replaces
    batches by rows must keep these.
    """

    rows: list[pa.RecordBatch]
    unconvertible: list[OversizedBatch | UnconvertibleBatch]


def decode_convertible(partition: int, batches: Sequence[StoredBatch]) -> Decoded:
    """Return the rows of all batches that can become rows, and name every batch that cannot.

    A batch becomes rows as a whole or not at all: either every record of it is a row, with the offset, time,
    key, value and headers that a consumer reads, or it is listed as unconvertible. Raises `DamagedBatch`,
    because those bytes are not what was stored.
    """
    try:
        return Decoded(list(decode(partition, batches)), [])
    except (OversizedBatch, UnconvertibleBatch):
        return _one_by_one(partition, batches)


def _one_by_one(partition: int, batches: Sequence[StoredBatch]) -> Decoded:
    """Find out which batches can become rows; slow, and rarely needed."""
    found = Decoded([], [])
    for batch in batches:
        try:
            found.rows.extend(decode(partition, [batch]))
        except (OversizedBatch, UnconvertibleBatch) as error:
            error.__cause__ = error.__context__ = None  # their frames hold the bytes of the batch
            found.unconvertible.append(error.with_traceback(None))
    return found


def decode(
    partition: int,
    batches: Iterable[StoredBatch],
    *,
    chunk_bytes: int = CHUNK_BYTES,
    plain_bytes_max: int = READ_BYTES_MAX,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a stream's batches as columns of `SCHEMA`, some megabytes at a time.

    Raises `DamagedBatch`, `OversizedBatch` or `UnconvertibleBatch`, after all chunks of earlier batches;
    records that share a chunk with a bad batch are not returned.
    """
    if not 0 < chunk_bytes <= CHUNK_BYTES_MAX:
        raise ValueError(f"chunk_bytes must be 1 to {CHUNK_BYTES_MAX}, not {chunk_bytes}")
    gathered: list[OpenedBatch] = []
    size = 0
    for batch in opened(batches, plain_bytes_max):
        gathered.append(batch)
        size += batch.payload.size
        if size >= chunk_bytes:
            yield _columns(partition, gathered)
            gathered, size = [], 0
    if gathered:
        yield _columns(partition, gathered)


def _columns(partition: int, batches: list[OpenedBatch]) -> pa.RecordBatch:
    table = np.array([batch.row for batch in batches], np.int64)
    attributes = Numbers(int(table[:, kernel.COUNT].sum()), np.int32)
    totals = np.zeros(kernel.TOTALS, np.int64)
    fault, number, record = kernel.measure(table, attributes.address, totals)
    if fault != kernel.VALID:
        batch = batches[number]
        raise UnconvertibleBatch(batch.base_offset, batch.last_offset, _FAULTS[fault], record)
    filling = Filling(attributes, totals)
    kernel.fill(table, filling.target())
    return filling.rows(partition)
