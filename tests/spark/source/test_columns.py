"""Columns of the source: the table's, or a selection of them."""

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from dray.formats import parquet_v1
from dray.spark.errors import InvalidOption
from dray.spark.source.columns import SCHEMA, arrow_schema, checked, shaped


def _schema(ddl: str) -> StructType:
    """Parse a schema; Spark's own parser needs a JVM."""
    kinds = {
        "long": "long",
        "int": "integer",
        "binary": "binary",
        "string": "string",
        "headers": {
            "type": "array",
            "containsNull": True,
            "elementType": {
                "type": "struct",
                "fields": [
                    {"name": "key", "type": "string", "nullable": True, "metadata": {}},
                    {"name": "value", "type": "binary", "nullable": True, "metadata": {}},
                ],
            },
        },
    }
    fields = [
        {"name": name, "type": kinds[kind], "nullable": True, "metadata": {}}
        for name, kind in (part.split() for part in ddl.split(",") if part)
    ]
    return StructType.fromJson({"type": "struct", "fields": fields})


def test_schema_equals_that_of_the_files() -> None:
    assert arrow_schema(SCHEMA).equals(parquet_v1.SCHEMA, check_metadata=False)


def test_user_schema_may_select_and_reorder_columns() -> None:
    assert checked(_schema("value binary,offset long")).fieldNames() == ["value", "offset"]


def test_user_schema_decides_nullability() -> None:
    wanted = arrow_schema(checked(_schema("headers headers,offset long")))
    rows = pa.RecordBatch.from_pylist(
        [{"offset": 1, "headers": [{"key": "a", "value": None}]}],
        schema=pa.schema([parquet_v1.SCHEMA.field("offset"), parquet_v1.SCHEMA.field("headers")]),
    )
    found = shaped(rows, wanted)
    assert found.schema.equals(wanted)
    assert found.to_pylist() == [{"headers": [{"key": "a", "value": None}], "offset": 1}]


@pytest.mark.parametrize(
    ("ddl", "error"),
    [
        ("", "has no columns"),
        ("ofset long", "no column 'ofset'; did you mean offset"),
        ("payload binary", "it has partition, offset, timestamp"),
        ("offset int", "offset is bigint, not int"),
        ("value string", "value is binary, not string"),
        ("headers binary", "headers is array<struct<key:string,value:binary>>"),
        ("offset long,offset long", "names a column twice"),
    ],
)
def test_unknown_column_or_type_is_refused(ddl: str, error: str) -> None:
    with pytest.raises(InvalidOption, match=error):
        checked(_schema(ddl))
