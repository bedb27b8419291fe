"""Columns that a kernel fills: the same memory as numpy arrays, as addresses, and as Arrow buffers.

The memory is from Arrow's pool, which keeps freed pages for the next chunk: a caller that drops one chunk
before it reads the next gets the same memory again, without the cost of new pages.
"""

from typing import Final, Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dray.records.columns import decode_kernel as kernel
from dray.records.columns.schema import HEADER, HEADERS, SCHEMA, TIMESTAMP

Number = TypeVar("Number", np.int32, np.int64)
_VALID: Final = 1


class Numbers(Generic[Number]):
    """A column of numbers."""

    __slots__ = ("array", "buffer")

    def __init__(self, rows: int, kind: type[Number]) -> None:
        self.buffer = pa.allocate_buffer(rows * np.dtype(kind).itemsize)
        self.array: NDArray[Number] = np.frombuffer(self.buffer, kind)

    @property
    def address(self) -> int:
        found: int = self.buffer.address
        return found

    def column(self, kind: pa.DataType) -> pa.Array:
        return pa.Array.from_buffers(kind, len(self.array), [None, self.buffer], 0)


def ends(rows: int) -> Numbers[np.int32]:
    """Return a column of the ends of values, with the 0 where the first one begins."""
    numbers = Numbers(rows + 1, np.int32)
    numbers.array[0] = 0
    return numbers


class Bytes:
    """A column of bytes, `size` in all."""

    __slots__ = ("data", "ends", "valid")

    def __init__(self, rows: int, size: int) -> None:
        self.ends = ends(rows)
        self.valid = np.full(rows, _VALID, np.uint8)
        self.data = pa.allocate_buffer(size)

    def target(self) -> kernel.BytesTarget:
        return kernel.BytesTarget(self.data.address, self.ends.address, self.valid.ctypes.data)

    def column(self, kind: pa.DataType) -> pa.Array:
        rows = len(self.valid)
        nulls = rows - int(np.count_nonzero(self.valid))
        validity = pa.py_buffer(np.packbits(self.valid, bitorder="little")) if nulls else None
        return pa.Array.from_buffers(kind, rows, [validity, self.ends.buffer, self.data], nulls)


class Filling:
    """All columns of some rows, allocated by the sizes that `measure` has added up."""

    def __init__(self, attributes: Numbers[np.int32], totals: NDArray[np.int64]) -> None:
        rows, headers = len(attributes.array), int(totals[kernel.HEADERS])
        self.attributes = attributes
        self.offsets = Numbers(rows, np.int64)
        self.timestamps = Numbers(rows, np.int64)
        self.header_ends = ends(rows)
        self.key = Bytes(rows, int(totals[kernel.KEYS]))
        self.value = Bytes(rows, int(totals[kernel.VALUES]))
        self.header_key = Bytes(headers, int(totals[kernel.HEADER_KEYS]))
        self.header_value = Bytes(headers, int(totals[kernel.HEADER_VALUES]))

    def target(self) -> kernel.Target:
        return kernel.Target(
            self.offsets.address,
            self.timestamps.address,
            self.attributes.address,
            self.header_ends.address,
            self.key.target(),
            self.value.target(),
            self.header_key.target(),
            self.header_value.target(),
        )

    def rows(self, partition: int) -> pa.RecordBatch:
        """Return the filled columns; those of the producer are null."""
        count = len(self.attributes.array)
        filled = {
            "partition": pa.array(np.full(count, partition, np.int32)),
            "offset": self.offsets.column(pa.int64()),
            "timestamp": self.timestamps.column(TIMESTAMP),
            "key": self.key.column(pa.binary()),
            "value": self.value.column(pa.binary()),
            "headers": self._headers(count),
            "attributes": self.attributes.column(pa.int32()),
        }
        columns = [
            filled[field.name] if field.name in filled else pa.nulls(count, field.type) for field in SCHEMA
        ]
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)

    def _headers(self, count: int) -> pa.Array:
        fields = [self.header_key.column(pa.string()), self.header_value.column(pa.binary())]
        header = pa.StructArray.from_arrays(fields, fields=list(HEADER))
        return pa.Array.from_buffers(HEADERS, count, [None, self.header_ends.buffer], 0, children=[header])
