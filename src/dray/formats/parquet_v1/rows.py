"""How large rows are, and where to cut them. The sizes are those of the plain data, before encoding.

A group is cut by bytes and not by rows, because a group is what a broker reads, decodes and keeps at a time.
"""

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dray.formats.parquet_v1.errors import RowsOutOfOrder
from dray.formats.parquet_v1.schema import SCHEMA

ROW_BYTES: Final = 24
"""What a row takes beside its bytes: offset, timestamp, lengths."""
HEADER_BYTES: Final = 8
"""What a header takes beside its bytes."""


def conformed(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with the field ids of the file's schema; only the names and types must be the same."""
    return pa.RecordBatch.from_arrays([rows.column(name) for name in SCHEMA.names], schema=SCHEMA)


def check_order(rows: pa.RecordBatch, previous: int) -> int:
    """Refuse offsets that do not ascend, from `previous` on; returns the last."""
    offsets = rows.column("offset").to_numpy()
    if offsets[0] <= previous or (np.diff(offsets) <= 0).any():
        raise RowsOutOfOrder(
            f"offsets {offsets[0]} to {offsets[-1]} do not ascend, or do not follow {previous}"
        )
    return int(offsets[-1])


def row_ends(rows: pa.RecordBatch) -> NDArray[np.int64]:
    """Return, for each row, what all rows up to its end take."""
    headers = rows.column("headers")
    header_ends = _ends(headers)
    fields = headers.values
    header_bytes = _ends(fields.field(0)) + _ends(fields.field(1)) + HEADER_BYTES * np.arange(len(fields) + 1)
    starts = _ends(rows.column("key")) + _ends(rows.column("value")) + header_bytes[header_ends]
    ends: NDArray[np.int64] = starts[1:] - starts[0] + ROW_BYTES * np.arange(1, len(rows) + 1)
    return ends


def fitting(ends: NDArray[np.int64], start: int, room_bytes: int) -> int:
    """Return behind which row to cut, so that the rows from `start` on fit; `start` if none does."""
    before = int(ends[start - 1]) if start else 0
    return int(np.searchsorted(ends, before + room_bytes, "right"))


def _ends(column: pa.Array) -> NDArray[np.int64]:
    buffer = column.buffers()[1]
    if buffer is None or not buffer.size:
        return np.zeros(len(column) + 1, np.int64)
    numbers = np.frombuffer(buffer, np.int32)[column.offset : column.offset + len(column) + 1]
    return numbers.astype(np.int64)
