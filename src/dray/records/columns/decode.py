"""Stored record batches to Arrow columns.

Batches are gathered until they hold about `chunk_bytes` once decompressed, then read by two calls of the
kernel into columns that are allocated exactly. Nothing is kept here between chunks.

Offsets in Arrow's binary columns have 32 bits. They cannot overflow: a chunk is at most `CHUNK_BYTES_MAX`
and one batch more, and a batch is at most `READ_BYTES_MAX` once decompressed; Latin-1 at most doubles
that.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from dray.records.columns import decode_kernel as kernel
from dray.records.columns.errors import UnreadableBatch
from dray.records.columns.filling import Filling, Numbers
from dray.records.columns.opened import READ_BYTES_MAX, OpenedBatch, StoredBatch, opened

CHUNK_BYTES: Final = 4 * 1024 * 1024
CHUNK_BYTES_MAX: Final = 512 * 1024 * 1024

_FAULTS: Final = {
    kernel.ENDS_EARLY: "the header counts more records than there are",
    kernel.RECORD_LENGTH: "it claims a length that is negative or beyond the batch",
    kernel.FIELD_LENGTH: "a field claims more bytes than are left, or its length is cut or too long",
    kernel.HEADER_COUNT: "it claims a number of headers that is negative or beyond its bytes",
    kernel.HEADER_KEY_NULL: "one of its headers has no key",
    kernel.LENGTH_DIFFERS: "its fields do not take the bytes that it claims",
    kernel.OFFSET_ORDER: "its offset delta does not ascend, or is beyond the batch's last",
    kernel.BYTES_LEFT: "bytes are left after the records that the header counts",
}


def decode_readable(partition: int, batches: Sequence[StoredBatch]) -> tuple[list[pa.RecordBatch], list[str]]:
    """Return the records of those batches that their producer made readable, and what is wrong with others.

    Raises `DamagedBatch` or `OversizedBatch`, which nobody may pass over.
    """
    try:
        return list(decode(partition, batches)), []
    except UnreadableBatch:
        return _one_by_one(partition, batches)


def _one_by_one(partition: int, batches: Sequence[StoredBatch]) -> tuple[list[pa.RecordBatch], list[str]]:
    """Find out which batches can be read; slow, and rarely needed."""
    found: list[pa.RecordBatch] = []
    unreadable: list[str] = []
    for batch in batches:
        try:
            found += decode(partition, [batch])
        except UnreadableBatch as error:
            unreadable.append(error.message)
    return found, unreadable


def decode(
    partition: int,
    batches: Iterable[StoredBatch],
    *,
    chunk_bytes: int = CHUNK_BYTES,
    plain_bytes_max: int = READ_BYTES_MAX,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a stream's batches as columns of `SCHEMA`, some megabytes at a time.

    Raises `DamagedBatch`, `OversizedBatch` or `UnreadableBatch`, after all chunks of earlier batches; records
    that share a chunk with a bad batch are not given out.
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
    if fault != kernel.SOUND:
        raise UnreadableBatch(batches[number].base_offset, _FAULTS[fault], record)
    filling = Filling(attributes, totals)
    kernel.fill(table, filling.target())
    return filling.rows(partition)
