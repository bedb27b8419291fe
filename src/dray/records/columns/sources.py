"""Arrow columns as input of the encoding kernel: the addresses of their buffers.

Arrow slices without copying: an array may begin anywhere in its buffers, and so may its child arrays. That is
resolved here. Files may have been rewritten by another engine: equivalent types (large, dictionary-encoded,
other units of time) are cast; a null in a required column is an error.
"""

from typing import Final, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dray.records.columns.encode_kernel import BytesSource, Source
from dray.records.columns.schema import SCHEMA
from dray.records.errors import InvalidBatch

Number = TypeVar("Number", np.int32, np.int64)
NEEDED: Final = ("offset", "timestamp", "key", "value", "headers", "attributes")
"""The columns that records are made of; others are ignored."""


class Columns(NamedTuple):
    """The numeric columns, and the addresses of all columns for the kernel; valid while `kept` is alive."""

    offsets: NDArray[np.int64]
    millis: NDArray[np.int64]
    attributes: NDArray[np.int32]
    source: Source
    kept: tuple[object, ...]


def columns_of(rows: pa.RecordBatch) -> Columns:
    """Return the columns of `rows`; raises `InvalidBatch` if they are not columns of records."""
    found = {name: _column(rows, name) for name in NEEDED}
    header = found["headers"].values
    header_key, header_value = header.field(0), header.field(1)
    _refuse_nulls("headers.element", header)
    _refuse_nulls("headers.element.key", header_key)
    offsets = _numbers(found["offset"], np.int64)
    millis = _numbers(found["timestamp"], np.int64) // 1000
    attributes = _numbers(found["attributes"], np.int32)
    kept: list[object] = [*found.values(), offsets, millis, attributes]
    source = Source(
        rows=rows.num_rows,
        offsets=_address(offsets),
        millis=_address(millis),
        attributes=_address(attributes),
        header_ends=_ends(found["headers"], kept),
        key=_bytes(found["key"], kept),
        value=_bytes(found["value"], kept),
        header_key=_bytes(header_key, kept),
        header_value=_bytes(header_value, kept),
    )
    return Columns(offsets, millis, attributes, source, tuple(kept))


def _column(rows: pa.RecordBatch, name: str) -> pa.Array:
    field = SCHEMA.field(name)
    number = rows.schema.get_field_index(name)
    if number < 0:
        raise InvalidBatch(f"records need the column {name}; there are {', '.join(rows.schema.names)}")
    column = rows.column(number)
    if column.type != field.type:
        try:
            column = column.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InvalidBatch(f"the column {name} is {column.type}, not {field.type}: {error}") from error
    if not field.nullable:
        _refuse_nulls(name, column)
    return column


def _refuse_nulls(name: str, column: pa.Array) -> None:
    if column.null_count:
        raise InvalidBatch(f"the column {name} has {column.null_count} nulls; it may have none")


def _numbers(column: pa.Array, kind: type[Number]) -> NDArray[Number]:
    if not len(column):
        return np.empty(0, kind)
    return np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column)]


def _ends(column: pa.Array, kept: list[object]) -> int:
    """Return the address of the offsets: where the first value begins, then where each one ends."""
    buffer = column.buffers()[1]
    if buffer is None or not buffer.size:  # Arrow may leave it out when there are no values
        zeros = np.zeros(len(column) + 1, np.int32)
        kept.append(zeros)
        return _address(zeros)
    address: int = buffer.address + column.offset * np.dtype(np.int32).itemsize
    return address


def _bytes(column: pa.Array, kept: list[object]) -> BytesSource:
    validity, _, data = column.buffers()
    return BytesSource(
        data=data.address if data else 0,
        ends=_ends(column, kept),
        validity=validity.address if validity else 0,
        first_bit=column.offset,
    )


def _address(array: NDArray[np.int32 | np.int64]) -> int:
    address: int = array.ctypes.data
    return address
