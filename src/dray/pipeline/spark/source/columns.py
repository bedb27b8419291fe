"""The columns of a topic as Spark sees them: those of its table, all of them or the ones asked for.

Spark has no way to tell a Python source which columns a query needs. The user has: a schema of their own,
with any of the columns in any order. Types must be the table's; whether nulls are allowed is the user's word.
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

from dray.pipeline.spark.options import OptionWrong, suggestion

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
"""As `formats.parquet_v1` has it, and so the table."""

_PLAIN: Final[dict[type[DataType], pa.DataType]] = {
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    TimestampType: pa.timestamp("us", "UTC"),
    BinaryType: pa.binary(),
    StringType: pa.string(),
}


def checked(schema: StructType) -> StructType:
    """Return the schema if a topic has these columns; raises `OptionWrong`."""
    names = schema.fieldNames()
    if not names:
        raise OptionWrong(f"the schema names no column; a topic has {', '.join(SCHEMA.fieldNames())}")
    if len(set(names)) != len(names):
        raise OptionWrong(f"the schema names a column twice: {', '.join(names)}")
    for field in schema.fields:
        _check(field)
    return schema


def _check(field: StructField) -> None:
    known = {one.name: one for one in SCHEMA.fields}
    if field.name not in known:
        hint = suggestion(field.name, tuple(known))
        raise OptionWrong(f"a topic has no column {field.name!r}{hint}; it has {', '.join(known)}")
    ours = known[field.name].dataType
    if _bare(field.dataType) != _bare(ours):
        raise OptionWrong(
            f"the column {field.name} is {ours.simpleString()}, not {field.dataType.simpleString()}; "
            "read it as it is and cast it after"
        )


def _bare(kind: DataType) -> DataType:
    """Return the type without its word on nulls."""
    if isinstance(kind, ArrayType):
        return ArrayType(_bare(kind.elementType))
    if isinstance(kind, StructType):
        return StructType([StructField(field.name, _bare(field.dataType)) for field in kind.fields])
    return kind


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the columns as Spark wants them from Python; Spark's own way to tell differs by its version."""
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
    """Return the columns that were asked for, with the types that were asked for."""
    columns = [rows.column(field.name) for field in schema]
    return pa.RecordBatch.from_arrays(
        [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(columns, schema, strict=True)
        ],
        schema=schema,
    )
