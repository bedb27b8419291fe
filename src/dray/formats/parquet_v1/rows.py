"""Order and sizes of rows, and where to cut row groups.

Groups are cut by bytes, not by rows, because a broker reads, decodes and caches one group at a time. Sizes
are those of the plain data, before encoding.
"""

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dray.formats.parquet_v1.errors import RowsOutOfOrder
from dray.formats.parquet_v1.schema import SCHEMA

ROW_BYTES: Final = 24
"""Overhead of a row: offset, timestamp, lengths."""
HEADER_BYTES: Final = 8
"""Overhead of a record header."""


def conformed(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with the field ids of the file's schema; names and types must match it."""
    return pa.RecordBatch.from_arrays([rows.column(name) for name in SCHEMA.names], schema=SCHEMA)


def check_order(rows: pa.RecordBatch, previous: int) -> int:
    """Return the last offset; raises `RowsOutOfOrder` if they do not ascend from `previous` on."""
    offsets = rows.column("offset").to_numpy()
    if offsets[0] <= previous or (np.diff(offsets) <= 0).any():
        raise RowsOutOfOrder(
            f"offsets {offsets[0]} to {offsets[-1]} do not ascend, or do not follow {previous}"
        )
    return int(offsets[-1])


def row_ends(rows: pa.RecordBatch) -> NDArray[np.int64]:
    """Return the cumulative size of the rows, up to the end of each."""
    headers = rows.column("headers")
    header_ends = _ends(headers)
    fields = headers.values
    header_bytes = _ends(fields.field(0)) + _ends(fields.field(1)) + HEADER_BYTES * np.arange(len(fields) + 1)
    starts = _ends(rows.column("key")) + _ends(rows.column("value")) + header_bytes[header_ends]
    ends: NDArray[np.int64] = starts[1:] - starts[0] + ROW_BYTES * np.arange(1, len(rows) + 1)
    return ends


def fitting(ends: NDArray[np.int64], start: int, bytes_max: int) -> int:
    """Return the end of the rows from `start` on that fit into `bytes_max`; `start` if none does."""
    before = int(ends[start - 1]) if start else 0
    return int(np.searchsorted(ends, before + bytes_max, "right"))


def _ends(column: pa.Array) -> NDArray[np.int64]:
    buffer = column.buffers()[1]
    if buffer is None or not buffer.size:
        return np.zeros(len(column) + 1, np.int64)
    numbers = np.frombuffer(buffer, np.int32)[column.offset : column.offset + len(column) + 1]
    return numbers.astype(np.int64)
