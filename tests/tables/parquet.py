"""Small Parquet files with the columns of a topic's table, and what their writer knows of them."""

from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from dray.formats import parquet_v1
from dray.tables.port import DataFile

FIRST_US: Final = 1_790_000_000_000_000


def rows(partition: int, first_offset: int, records: int, step_us: int = 1_000) -> Any:
    """Records with keys, values and headers; each a millisecond after the one before."""
    columns = [
        {
            "partition": partition,
            "offset": offset,
            "timestamp": FIRST_US + offset * step_us,
            "key": None if offset % 3 == 0 else b"key-%d" % offset,
            "value": b"value-%d" % offset,
            "headers": [{"key": "h", "value": b"1"}, {"key": "h", "value": None}][: offset % 3],
            "attributes": 0,
        }
        for offset in range(first_offset, first_offset + records)
    ]
    return pa.Table.from_pylist(columns, schema=parquet_v1.SCHEMA)


class ParquetFiles:
    """Writes files below a root and remembers their footers, as the compactor will."""

    def __init__(self, root: Path | None = None) -> None:
        self._root = root
        self._numbers = count()

    def file(self, partition: int, first_offset: int, records: int, step_us: int = 1_000) -> DataFile:
        content, footer = _encoded(rows(partition, first_offset, records, step_us))
        number = next(self._numbers)
        path = f"compaction/v1/topic=orders/partition={partition}/{number:06}-{first_offset}.parquet"
        if self._root is not None:
            target = self._root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        last = first_offset + records - 1
        return DataFile(path, len(content), records, partition, first_offset, last, footer)


def _encoded(table: Any) -> tuple[bytes, bytes]:
    whole = BytesIO()
    writer = parquet_v1.FileWriter(whole)
    for batch in table.to_batches():
        writer.write(batch)
    written = writer.close()
    return whole.getvalue(), written.tail
