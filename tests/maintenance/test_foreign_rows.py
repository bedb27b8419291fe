"""Reads of records from files that other engines have written, whatever their column names."""

import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dray.formats.parquet_v1 import SCHEMA, ForeignParquet
from dray.maintenance.foreign_rows import rows_within
from tests.formats.parquet_v1.builders import some_rows

_ROWS = pa.Table.from_batches([some_rows(0, 10)])


def _file(rows: pa.Table, **how: Any) -> bytes:
    output = io.BytesIO()
    pq.write_table(rows, output, **how)
    return output.getvalue()


def _without_ids(rows: pa.Table) -> pa.Table:
    fields = [pa.field(field.name, _plain(field.type), field.nullable) for field in rows.schema]
    return pa.Table.from_pylist(rows.to_pylist(), schema=pa.schema(fields))


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    return kind


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows,
        lambda rows: rows.rename_columns([f"was_{name}" for name in rows.column_names]),
        lambda rows: rows.select(list(reversed(rows.column_names))),
        lambda rows: rows.append_column("country", pa.array(["x"] * rows.num_rows)),
        lambda rows: rows.drop_columns(["producer_id", "record_crc"]),
        _without_ids,
    ],
)
def test_columns_are_found_by_id_or_name(change: Callable[[pa.Table], pa.Table]) -> None:
    found = rows_within(_file(change(_ROWS), row_group_size=3), 3, 2, 8)
    assert found.schema.equals(SCHEMA)
    assert found.to_pylist() == _ROWS.slice(2, 6).to_pylist()


def test_rows_of_other_partitions_are_skipped() -> None:
    assert rows_within(_file(_ROWS), 4, 0, 10).num_rows == 0


@pytest.mark.parametrize(
    ("whole", "reason"),
    [
        (b"PAR1 not a file PAR1", "cannot be read"),
        (_file(_ROWS.drop_columns(["value"])), "no column value"),
        (_file(_ROWS.drop_columns(["attributes"])), "no column attributes"),
        (_file(_ROWS.drop_columns(["offset"])), "no column offset"),
    ],
)
def test_unreadable_file_is_refused_with_the_reason(whole: bytes, reason: str) -> None:
    with pytest.raises(ForeignParquet, match=reason):
        rows_within(whole, 3, 0, 10)
