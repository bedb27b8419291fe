"""Encoding of Arrow columns to record batches, uncompressed, as a fetch serves them.

A batch ends when it would grow beyond `batch_bytes`, when its offsets would span more than `span_max`, or
when the next record cannot share its header, which holds one log-append time. A record larger than
`batch_bytes` has a batch to itself. There may be gaps between offsets. Producer id, epoch and sequence are
-1, as in Kafka for none, and the transactional bit is not set, because all records in a table are committed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dray.records.columns import encode_kernel as kernel
from dray.records.columns.sources import Columns, columns_of
from dray.records.errors import InvalidBatch
from dray.records.header import (
    HEADER_BYTES,
    LENGTH_END,
    LOG_APPEND_BIT,
    MAGIC_V2,
    NO_PRODUCER,
    NO_SEQUENCE,
    BatchHeader,
    checksummed,
)

BATCH_BYTES: Final = 128 * 1024
SPAN_MAX: Final = 1 << 20
_INT_MAX: Final = 2**31 - 1

_FAULTS: Final = {
    kernel.NOT_ASCENDING: "its offset is negative or not greater than the previous row's",
    kernel.NOT_LATIN_1: "its header keys are marked as Latin-1 and are not",
    kernel.TOO_LARGE: "it is too large for a record",
}


class BatchSpan(NamedTuple):
    """The position of a batch in the encoded bytes, and the fields of its header."""

    start: int
    end: int
    base_offset: int
    last_offset: int
    record_count: int
    max_timestamp_ms: int


@dataclass(frozen=True, slots=True)
class EncodedBatches:
    """Consecutive batches in one buffer."""

    buffer: memoryview
    spans: tuple[BatchSpan, ...]


def encode(
    rows: pa.RecordBatch,
    *,
    batch_bytes: int = BATCH_BYTES,
    span_max: int = SPAN_MAX,
    leader_epoch: int = 0,
) -> EncodedBatches:
    """Return the rows as record batches; raises `InvalidBatch` if they cannot be encoded."""
    for name, number in (("batch_bytes", batch_bytes), ("span_max", span_max)):
        if not 0 < number <= _INT_MAX:
            raise ValueError(f"{name} must be 1 to {_INT_MAX}, not {number}")
    columns = columns_of(rows)
    lengths = np.empty(len(columns.offsets), np.int64)
    table = np.empty((len(columns.offsets), kernel.BATCH_COLUMNS), np.int64)
    fault, row, count, size = kernel.plan(columns.source, batch_bytes, span_max, lengths, table)
    if fault != kernel.VALID:
        raise InvalidBatch(f"row {row}, offset {columns.offsets[row]}, cannot be served: {_FAULTS[fault]}")
    out = pa.allocate_buffer(size)
    kernel.write(columns.source, lengths, table[:count], out.address)
    view = memoryview(out).cast("B")
    spans = _write_headers(view, columns, table[:count], leader_epoch)
    return EncodedBatches(view.toreadonly(), spans)


def encode_in_parts(rows: pa.RecordBatch, buffer_bytes: int) -> Iterator[EncodedBatches]:
    """Encode rows into several buffers of about that many bytes, with equal numbers of rows."""
    count = max(1, rows.nbytes // buffer_bytes)
    step = max(1, -(-rows.num_rows // count))
    return (encode(rows.slice(start, step)) for start in range(0, rows.num_rows, step))


def _write_headers(
    out: memoryview, columns: Columns, table: NDArray[np.int64], leader_epoch: int
) -> tuple[BatchSpan, ...]:
    """Write the headers, with their checksums, into the space left for them."""
    if not len(table):
        return ()
    first_rows, starts = table[:, kernel.FIRST_ROW], table[:, kernel.START].tolist()
    latest = np.maximum.reduceat(columns.millis, first_rows).tolist()
    rows = [*first_rows.tolist(), len(columns.offsets)]
    spans = []
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(out)], strict=True)):
        first, last = rows[number], rows[number + 1] - 1
        base, last_offset = int(columns.offsets[first]), int(columns.offsets[last])
        header = BatchHeader(
            base_offset=base,
            batch_length=end - start - LENGTH_END,
            leader_epoch=leader_epoch,
            magic=MAGIC_V2,
            crc=0,
            attributes=int(columns.attributes[first]) & LOG_APPEND_BIT,
            last_offset_delta=last_offset - base,
            base_timestamp=int(columns.millis[first]),
            max_timestamp=latest[number],
            producer_id=NO_PRODUCER,
            producer_epoch=-1,
            base_sequence=NO_SEQUENCE,
            record_count=last - first + 1,
        )
        payload_at = start + HEADER_BYTES
        out[start:payload_at] = checksummed(header, out[payload_at:end])[1]
        spans.append(BatchSpan(start, end, base, last_offset, last - first + 1, latest[number]))
    return tuple(spans)
