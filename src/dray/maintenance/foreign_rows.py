"""Reads of our records from Parquet files that other engines have written.

Columns are found by field id, as in Iceberg, or by name if the file has no ids. Required columns must exist
and have no nulls; reserved columns may be missing. Rows are returned in file order, which may be any order.
"""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from typing_extensions import Buffer

from dray.formats.parquet_v1 import SCHEMA, SERVED, ForeignParquet

_ID: Final = b"PARQUET:field_id"
_REQUIRED: Final = frozenset({"partition", *SERVED})


def rows_within(whole: Buffer, partition: int, start_offset: int, end_offset: int) -> pa.Table:
    """Return the rows of a partition in an offset range; raises `ForeignParquet` if they are unreadable."""
    try:
        file = pq.ParquetFile(pa.BufferReader(whole), page_checksum_verification=True)
        names = _names(file.schema_arrow)
        found = []
        for number in range(file.num_row_groups):
            rows = file.read_row_group(number, columns=list(names.values()), use_threads=False)
            mask = _within(rows.column(names["offset"]), start_offset, end_offset)
            mask = pc.and_(mask, pc.equal(rows.column(names["partition"]), partition))
            found.append(_conformed(rows.filter(mask), names))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ForeignParquet(f"it cannot be read as records: {error}") from error
    return pa.concat_tables(found) if found else SCHEMA.empty_table()


def _names(theirs: pa.Schema) -> dict[str, str]:
    """Return the file's names of our columns; raises `ForeignParquet` if a required one is missing."""
    by_id = {field.metadata[_ID]: field.name for field in theirs if field.metadata and _ID in field.metadata}
    names = {}
    for field in SCHEMA:
        name = by_id.get(field.metadata[_ID], None if by_id else field.name)
        if name is not None and name in theirs.names:
            names[field.name] = name
        elif field.name in _REQUIRED:
            raise ForeignParquet(f"it has no column {field.name}")
    return names


def _within(offsets: pa.ChunkedArray, start: int, end: int) -> pa.ChunkedArray:
    return pc.and_(pc.greater_equal(offsets, start), pc.less(offsets, end))


def _conformed(rows: pa.Table, names: dict[str, str]) -> pa.Table:
    columns = []
    for field in SCHEMA:
        if field.name not in names:
            columns.append(pa.nulls(rows.num_rows, field.type))
            continue
        column = rows.column(names[field.name])
        if not field.nullable and column.null_count:
            raise ForeignParquet(f"its column {field.name} has no value in {column.null_count} rows")
        columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.Table.from_arrays(columns, schema=SCHEMA)
