"""Schema of version 1: its text in the file never changes, and columns and tables agree with it."""

import io
from pathlib import Path

import pyarrow.parquet as pq

from dray.formats import parquet_v1
from dray.records import columns
from tests.formats.parquet_v1.builders import some_rows, written

GOLDEN = Path(__file__).parent / "golden" / "parquet-v1-schema.txt"


def _schema_text(whole: bytes) -> str:
    return str(pq.ParquetFile(io.BytesIO(whole)).schema).split("\n", 1)[1]


def test_schema_in_a_file_is_the_golden_one() -> None:
    whole, _ = written([some_rows(0, 3)])
    assert _schema_text(whole).strip() == GOLDEN.read_text().strip()


def test_file_without_rows_has_the_golden_schema() -> None:
    whole, _ = written([])
    assert _schema_text(whole).strip() == GOLDEN.read_text().strip()


def test_kernels_columns_have_the_schema() -> None:
    assert columns.SCHEMA.equals(parquet_v1.SCHEMA)
    assert columns.NEEDED == parquet_v1.SERVED


def test_every_field_has_a_number_and_nested_ones_come_last() -> None:
    top = [int(field.metadata[b"PARQUET:field_id"]) for field in parquet_v1.SCHEMA]
    assert top == list(range(1, 12))
    element = parquet_v1.SCHEMA.field("headers").type.value_field
    nested = [element, element.type.field("key"), element.type.field("value")]
    assert [int(field.metadata[b"PARQUET:field_id"]) for field in nested] == [12, 13, 14]


def test_rows_are_read_with_the_schema_they_were_written_with() -> None:
    whole, file = written([some_rows(0, 3)])
    (rows,) = (parquet_v1.read_group(file.footer, 0, 0, whole, parquet_v1.SCHEMA.names),)
    assert rows.schema.equals(parquet_v1.SCHEMA, check_metadata=True)
