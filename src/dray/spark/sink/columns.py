"""Columns of a frame: validation, conversion to the columns of records, and partitioning of rows.

    value       string or binary; null is a tombstone
    key         string or binary
    headers     array<struct<key: string, value: binary>>
    timestamp   timestamp, or bigint in milliseconds; null is the start of the load
    partition   an integer; null means by key

Spark guarantees nothing about nulls, so they are checked here. All work is columnar.

Rows without a partition go by their key, as with any Kafka client. Rows without a key are distributed in one
run per partition, so that batches are large. A task starts with the partition of its own number, so that
small tasks do not all start with the same one; unlike a random choice, this makes retries deterministic.
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

from dray.records.columns import MILLIS_MAX, SCHEMA
from dray.records.columns.partitions import partitions_of
from dray.spark.errors import CannotWrite

_HEADERS: Final = SCHEMA.field("headers").type
_HEADER: Final = _HEADERS.value_type
_UNROUTED: Final = -1


class FrameColumns(NamedTuple):
    """Rows of a frame in the columns of records."""

    key: pa.Array
    value: pa.Array
    headers: pa.Array
    timestamp_ms: NDArray[np.int64]
    partition: NDArray[np.int64]
    """-1 for rows without one."""


def check_schema(schema: StructType) -> None:
    """Raise `CannotWrite` unless all columns are known and have an allowed type."""
    there = {field.name: field.dataType for field in schema.fields}
    unknown = [name for name in there if name not in _ALLOWED]
    if unknown:
        raise CannotWrite(
            f"unknown column {', '.join(unknown)}: the columns of a topic are "
            f"{', '.join(_ALLOWED)}; drop it, or put it into value"
        )
    if "value" not in there:
        raise CannotWrite(f"the frame has no column value, only {', '.join(there) or 'none'}")
    if len(there) < len(schema.fields):
        raise CannotWrite(f"duplicate columns: {', '.join(schema.fieldNames())}")
    for name, kind in there.items():
        may, words = _ALLOWED[name]
        if not may(kind):
            raise CannotWrite(f"the column {name} is {kind.simpleString()}; it must be {words}")


def frame_columns(rows: pa.RecordBatch, load_ms: int) -> FrameColumns:
    """Convert rows with a valid schema; raises `CannotWrite` for invalid values."""
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
                f"a timestamp is {extreme} ms; expected 0 (1970) to {MILLIS_MAX}, "
                "or null for the start of the load"
            )
    return millis


def _partition(rows: pa.RecordBatch) -> NDArray[np.int64]:
    if "partition" not in rows.schema.names:
        return np.full(rows.num_rows, _UNROUTED, np.int64)
    column = rows.column("partition").cast(pa.int64())
    lowest = pc.min(column).as_py()
    if lowest is not None and lowest < 0:
        raise CannotWrite(f"a row is for partition {lowest}; use null to choose by key")
    return _numbers(column, _UNROUTED)


def _numbers(column: pa.Array, for_null: int) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = pc.fill_null(column, for_null).to_numpy(zero_copy_only=False)
    return numbers


def _headers(rows: pa.RecordBatch) -> pa.Array:
    """Return the headers with the nullability of records; a null list becomes an empty one."""
    if "headers" not in rows.schema.names:
        ends = np.zeros(rows.num_rows + 1, np.int32)
        return pa.ListArray.from_arrays(pa.array(ends), _struct(pa.array([], _HEADER)), type=_HEADERS)
    column = rows.column("headers")
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    ends = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=ends[1:])
    flat = pc.list_flatten(column)
    if flat.null_count or pc.struct_field(flat, 0).null_count:
        raise CannotWrite("a header is null or has no key; in Kafka only the value of a header may be null")
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


def route(wanted: NDArray[np.int64], key: pa.Array, partitions: int, first: int) -> NDArray[np.int32]:
    """Return the partition of every row; `wanted` is -1 for rows without one."""
    if len(wanted) and wanted.max() >= partitions:
        raise CannotWrite(
            f"a row is for partition {wanted.max()}; the topic has {partitions}, 0 to {partitions - 1}"
        )
    keyless = key.is_null().to_numpy(zero_copy_only=False)
    routed = np.where(wanted >= 0, wanted, partitions_of(key, partitions)).astype(np.int32)
    unassigned = np.flatnonzero((wanted < 0) & keyless)
    routed[unassigned] = (
        first + np.arange(len(unassigned)) * partitions // max(len(unassigned), 1)
    ) % partitions
    return routed
