"""The rows of a Parquet file in the bucket, as a reader of the table gets them."""

from dray.formats.parquet_v1 import SCHEMA, read_footer, read_group, row_groups
from dray.records import Record

_MICROS = 1000


def rows_of(data: bytes) -> list[tuple[int, Record]]:
    """Return every row as a record with its partition, in the order of the file."""
    footer = read_footer(data)
    found: list[tuple[int, Record]] = []
    for number, group in enumerate(row_groups(footer)):
        part = data[group.position : group.position + group.length]
        rows = read_group(footer, number, group.position, part, SCHEMA.names)
        columns = [
            rows.column(name).to_pylist() for name in ("partition", "offset", "key", "value", "headers")
        ]
        stamps = rows.column("timestamp").cast("int64").to_pylist()
        for stamp, (partition, offset, key, value, headers) in zip(
            stamps, zip(*columns, strict=True), strict=True
        ):
            fields = tuple((header["key"], header["value"]) for header in headers)
            found.append((partition, Record(offset, stamp // _MICROS, key, value, fields)))
    return found
