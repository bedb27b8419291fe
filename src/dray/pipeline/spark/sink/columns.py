"""The columns of a frame: which there may be, and how they become those that records are made of.

    value       string or binary; null is a tombstone
    key         string or binary
    headers     array<struct<key: string, value: binary>>
    timestamp   timestamp, or bigint in milliseconds; null is the time of the load
    partition   a whole number; null goes by the key

Spark promises nothing about nulls, so what may not be null is looked at here. Everything is done by the
column, nothing by the row.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegralType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from dray.pipeline.spark.sink.errors import CannotWrite
from dray.records.columns import MILLIS_MAX, SCHEMA

_HEADERS: Final = SCHEMA.field("headers").type
_HEADER: Final = _HEADERS.value_type
_UNROUTED: Final = -1


class FrameColumns(NamedTuple):
    """Rows of a frame as records want them, one beside the other."""

    key: pa.Array
    value: pa.Array
    headers: pa.Array
    timestamp_ms: NDArray[np.int64]
    partition: NDArray[np.int64]
    """-1 where the row does not say."""


def check_schema(schema: StructType) -> None:
    """Raise `CannotWrite` unless every column is one of ours, of a type that it may have."""
    there = {field.name: field.dataType for field in schema.fields}
    unknown = [name for name in there if name not in _ALLOWED]
    if unknown:
        raise CannotWrite(
            f"there is no place for the column {', '.join(unknown)}: the columns of a topic are "
            f"{', '.join(_ALLOWED)}; drop it, or put it into value"
        )
    if "value" not in there:
        raise CannotWrite(f"the frame has no column value, only {', '.join(there) or 'none'}")
    if len(there) < len(schema.fields):
        raise CannotWrite(f"a column comes twice: {', '.join(schema.fieldNames())}")
    for name, kind in there.items():
        may, words = _ALLOWED[name]
        if not may(kind):
            raise CannotWrite(f"the column {name} is {kind.simpleString()}; it must be {words}")


def frame_columns(rows: pa.RecordBatch, load_ms: int) -> FrameColumns:
    """Return the columns of some rows whose schema is sound; raises `CannotWrite` for what is in them."""
    count = rows.num_rows
    return FrameColumns(
        key=_bytes(rows, "key") if "key" in rows.schema.names else pa.nulls(count, pa.binary()),
        value=_bytes(rows, "value"),
        headers=_headers(rows),
        timestamp_ms=_millis(rows, load_ms),
        partition=_partition(rows),
    )


def _bytes(rows: pa.RecordBatch, name: str) -> pa.Array:
    return rows.column(name).cast(pa.binary())


def _millis(rows: pa.RecordBatch, load_ms: int) -> NDArray[np.int64]:
    if "timestamp" not in rows.schema.names:
        return np.full(rows.num_rows, load_ms, np.int64)
    column = rows.column("timestamp")
    if pa.types.is_timestamp(column.type):
        micros = column.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        millis = _numbers(micros, load_ms * 1000) // 1000
    else:
        millis = _numbers(column, load_ms)
    for extreme in (int(millis.min()), int(millis.max())):
        if not 0 <= extreme <= MILLIS_MAX:
            raise CannotWrite(
                f"a timestamp is {extreme} ms; a load takes those from 0, 1970, to {MILLIS_MAX}, "
                "and null for the time at which it began"
            )
    return millis


def _partition(rows: pa.RecordBatch) -> NDArray[np.int64]:
    if "partition" not in rows.schema.names:
        return np.full(rows.num_rows, _UNROUTED, np.int64)
    column = rows.column("partition").cast(pa.int64())
    lowest = pc.min(column).as_py()
    if lowest is not None and lowest < 0:
        raise CannotWrite(f"a row is for partition {lowest}; null leaves the choice to the key")
    return _numbers(column, _UNROUTED)


def _numbers(column: pa.Array, for_null: int) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = pc.fill_null(column, for_null).to_numpy(zero_copy_only=False)
    return numbers


def _headers(rows: pa.RecordBatch) -> pa.Array:
    """Return the headers with the nullability of records; no list is an empty list."""
    if "headers" not in rows.schema.names:
        ends = np.zeros(rows.num_rows + 1, np.int32)
        return pa.ListArray.from_arrays(pa.array(ends), _struct(pa.array([], _HEADER)), type=_HEADERS)
    column = rows.column("headers")
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    ends = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=ends[1:])
    flat = pc.list_flatten(column)
    if flat.null_count or pc.struct_field(flat, 0).null_count:
        raise CannotWrite(
            "a header is null or has no key; Kafka's headers have one, their values may be null"
        )
    return pa.ListArray.from_arrays(pa.array(ends), _struct(flat), type=_HEADERS)


def _struct(flat: pa.StructArray) -> pa.StructArray:
    key, value = (pc.struct_field(flat, number) for number in (0, 1))
    return pa.StructArray.from_arrays([key.cast(pa.string()), value.cast(pa.binary())], fields=list(_HEADER))


def _is_bytes(kind: DataType) -> bool:
    return isinstance(kind, (StringType, BinaryType))


def _is_headers(kind: DataType) -> bool:
    element = kind.elementType if isinstance(kind, ArrayType) else None
    if not isinstance(element, StructType) or element.fieldNames() != ["key", "value"]:
        return False
    key, value = element.fields
    return isinstance(key.dataType, StringType) and _is_bytes(value.dataType)


_ALLOWED: Final[dict[str, tuple[Callable[[DataType], bool], str]]] = {
    "value": (_is_bytes, "string or binary"),
    "key": (_is_bytes, "string or binary"),
    "headers": (_is_headers, "array<struct<key:string,value:binary>>"),
    "timestamp": (
        lambda kind: isinstance(kind, (TimestampType, LongType)),
        "timestamp, or bigint in milliseconds",
    ),
    "partition": (lambda kind: isinstance(kind, IntegralType), "int"),
}
