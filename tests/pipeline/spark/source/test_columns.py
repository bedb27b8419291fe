"""The columns are the table's, or those of them that were asked for."""

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from dray.formats import parquet_v1
from dray.pipeline.spark.options import OptionWrong
from dray.pipeline.spark.source.columns import SCHEMA, arrow_schema, checked, shaped


def _schema(ddl: str) -> StructType:
    """Read a schema without a JVM, which DDL would need."""
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


def test_the_columns_are_those_of_the_files() -> None:
    assert arrow_schema(SCHEMA).equals(parquet_v1.SCHEMA, check_metadata=False)


def test_some_columns_in_any_order() -> None:
    assert checked(_schema("value binary,offset long")).fieldNames() == ["value", "offset"]


def test_nulls_are_the_users_word() -> None:
    wanted = arrow_schema(checked(_schema("headers headers,offset long")))
    rows = pa.RecordBatch.from_pylist(
        [{"offset": 1, "headers": [{"key": "a", "value": None}]}],
        schema=pa.schema([parquet_v1.SCHEMA.field("offset"), parquet_v1.SCHEMA.field("headers")]),
    )
    found = shaped(rows, wanted)
    assert found.schema.equals(wanted)
    assert found.to_pylist() == [{"headers": [{"key": "a", "value": None}], "offset": 1}]


@pytest.mark.parametrize(
    ("ddl", "said"),
    [
        ("", "names no column"),
        ("ofset long", "no column 'ofset'; did you mean offset"),
        ("payload binary", "it has partition, offset, timestamp"),
        ("offset int", "offset is bigint, not int"),
        ("value string", "value is binary, not string"),
        ("headers binary", "headers is array<struct<key:string,value:binary>>"),
        ("offset long,offset long", "names a column twice"),
    ],
)
def test_other_columns_are_refused(ddl: str, said: str) -> None:
    with pytest.raises(OptionWrong, match=said):
        checked(_schema(ddl))
