"""Columns of a topic in Spark: those of its table, or the ones in the user's schema.

Spark does not push column pruning down to Python sources. Users can prune with a schema of their own: any of
the columns in any order. Types must be the table's; nullability is up to the user.
"""

from typing import Final

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from dray.spark.errors import InvalidOption
from dray.spark.options import suggestion

_HEADER: Final = StructType(
    [StructField("key", StringType(), nullable=False), StructField("value", BinaryType())]
)
SCHEMA: Final = StructType(
    [
        StructField("partition", IntegerType(), nullable=False),
        StructField("offset", LongType(), nullable=False),
        StructField("timestamp", TimestampType(), nullable=False),
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("headers", ArrayType(_HEADER, containsNull=False), nullable=False),
        StructField("producer_id", LongType()),
        StructField("producer_epoch", IntegerType()),
        StructField("base_sequence", IntegerType()),
        StructField("attributes", IntegerType(), nullable=False),
        StructField("record_crc", IntegerType()),
    ]
)
"""The schema of `formats.parquet_v1`, and of the table."""

_PLAIN: Final[dict[type[DataType], pa.DataType]] = {
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    TimestampType: pa.timestamp("us", "UTC"),
    BinaryType: pa.binary(),
    StringType: pa.string(),
}


def checked(schema: StructType) -> StructType:
    """Return the schema if a topic has these columns; raises `InvalidOption`."""
    names = schema.fieldNames()
    if not names:
        raise InvalidOption(f"the schema has no columns; a topic has {', '.join(SCHEMA.fieldNames())}")
    if len(set(names)) != len(names):
        raise InvalidOption(f"the schema names a column twice: {', '.join(names)}")
    for field in schema.fields:
        _check(field)
    return schema


def _check(field: StructField) -> None:
    known = {one.name: one for one in SCHEMA.fields}
    if field.name not in known:
        hint = suggestion(field.name, tuple(known))
        raise InvalidOption(f"a topic has no column {field.name!r}{hint}; it has {', '.join(known)}")
    ours = known[field.name].dataType
    if _bare(field.dataType) != _bare(ours):
        raise InvalidOption(
            f"the column {field.name} is {ours.simpleString()}, not {field.dataType.simpleString()}; "
            "read it as it is and cast it afterwards"
        )


def _bare(kind: DataType) -> DataType:
    """Return the type without its nullability."""
    if isinstance(kind, ArrayType):
        return ArrayType(_bare(kind.elementType))
    if isinstance(kind, StructType):
        return StructType([StructField(field.name, _bare(field.dataType)) for field in kind.fields])
    return kind


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow schema that Spark expects; Spark's own conversion differs between versions."""
    return pa.schema([_arrow_field(field) for field in schema.fields])


def _arrow_field(field: StructField) -> pa.Field:
    return pa.field(field.name, _arrow_type(field.dataType), nullable=field.nullable)


def _arrow_type(kind: DataType) -> pa.DataType:
    if isinstance(kind, ArrayType):
        return pa.list_(pa.field("element", _arrow_type(kind.elementType), nullable=kind.containsNull))
    if isinstance(kind, StructType):
        return pa.struct([_arrow_field(field) for field in kind.fields])
    return _PLAIN[type(kind)]


def shaped(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the requested columns with the requested types."""
    columns = [rows.column(field.name) for field in schema]
    return pa.RecordBatch.from_arrays(
        [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(columns, schema, strict=True)
        ],
        schema=schema,
    )
