"""Rows and files for the tests of the Parquet format."""

import io
from collections.abc import Iterable, Sequence

import pyarrow as pa

from dray.formats import parquet_v1

NOW_MS = 1_700_000_000_000


def some_rows(first: int, count: int, *, value_bytes: int = 20, step: int = 1) -> pa.RecordBatch:
    """Rows from an offset on; every third has no key, every second two headers of the same name."""
    offsets = range(first, first + count * step, step)
    return pa.RecordBatch.from_pylist([_row(offset, value_bytes) for offset in offsets], parquet_v1.SCHEMA)


def _row(offset: int, value_bytes: int) -> dict[str, object]:
    headers = [{"key": "trace", "value": b"%d" % offset}, {"key": "trace", "value": None}]
    return {
        "partition": 3,
        "offset": offset,
        "timestamp": (NOW_MS + offset % 7) * 1000,
        "key": b"key-%d" % offset if offset % 3 else None,
        "value": bytes([offset % 251]) * value_bytes,
        "headers": headers if offset % 2 else [],
        "attributes": 0,
    }


def written(
    rows: Iterable[pa.RecordBatch], group_bytes: int = parquet_v1.GROUP_BYTES
) -> tuple[bytes, parquet_v1.WrittenFile]:
    """Return the bytes of a file with these rows, and the writer's description of it."""
    output = io.BytesIO()
    writer = parquet_v1.FileWriter(output, group_bytes=group_bytes)
    for batch in rows:
        writer.write(batch)
    file = writer.close()
    return output.getvalue(), file


def group_data(whole: bytes, group: parquet_v1.RowGroup) -> bytes:
    return whole[group.position : group.position + group.length]


def read_all(whole: bytes, file: parquet_v1.WrittenFile, columns: Sequence[str]) -> list[pa.RecordBatch]:
    return [
        parquet_v1.read_group(file.footer, number, group.position, group_data(whole, group), columns)
        for number, group in enumerate(file.groups)
    ]
