"""Writer of compacted files: rows in, row groups out, and at the end what the index and the table need.

The settings are measured: zstd at level 1 compresses as well as at level 3 and twice as fast; delta-encoded
offsets and timestamps and no statistics on keys, values and headers save a quarter of the time; dictionaries
are only for columns whose values repeat. Each page has a checksum, because the file becomes the only copy
once the batches in the WAL are deleted.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from dray.formats.parquet_v1.footer import Footer, RowGroup, read_footer, row_groups, tail_crc
from dray.formats.parquet_v1.rows import check_order, conformed, fitting, row_ends
from dray.formats.parquet_v1.schema import SCHEMA

GROUP_BYTES: Final = 4 * 1024 * 1024
_NO_STATISTICS: Final = frozenset({"key", "value", "headers"})
SETTINGS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": [
            "partition",
            "producer_id",
            "producer_epoch",
            "base_sequence",
            "attributes",
            "headers.list.element.key",
        ],
        "column_encoding": {
            "offset": "DELTA_BINARY_PACKED",
            "timestamp": "DELTA_BINARY_PACKED",
            "key": "PLAIN",
            "value": "PLAIN",
        },
        "write_statistics": [name for name in SCHEMA.names if name not in _NO_STATISTICS],
        "write_page_index": True,
        "write_page_checksum": True,
        "store_schema": False,
    }
)
"""Arguments of pyarrow's writer."""

_MAGIC_BYTES: Final = 4


class Output(Protocol):
    """Destination of a file: any binary file or pyarrow sink. It is not closed."""

    def write(self, data: bytes, /) -> int: ...

    def tell(self) -> int: ...


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """Properties of a written file; offsets and timestamps are -1 if it has no rows."""

    size_bytes: int
    tail: bytes
    """The end of the file, sufficient for `read_footer` and for the table."""
    crc: int
    """CRC of the tail, for `read_footer`."""
    footer: Footer
    groups: tuple[RowGroup, ...]

    @property
    def row_count(self) -> int:
        return sum(group.row_count for group in self.groups)

    @property
    def first_offset(self) -> int:
        return self.groups[0].first_offset if self.groups else -1

    @property
    def last_offset(self) -> int:
        return self.groups[-1].last_offset if self.groups else -1

    @property
    def min_timestamp_ms(self) -> int:
        return min((group.min_timestamp_ms for group in self.groups), default=-1)

    @property
    def max_timestamp_ms(self) -> int:
        return max((group.max_timestamp_ms for group in self.groups), default=-1)


class FileWriter:
    """Writes rows in the order of their offsets, in groups of about `group_bytes`."""

    def __init__(self, output: Output, *, group_bytes: int = GROUP_BYTES) -> None:
        self._output = output
        self._group_bytes = group_bytes
        self._collected: list[pq.FileMetaData] = []
        self._parquet = pq.ParquetWriter(output, SCHEMA, metadata_collector=self._collected, **SETTINGS)
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        self._last_offset = -1

    def write(self, rows: pa.RecordBatch) -> None:
        """Add rows; they are kept until their group is full, so their memory must not be reused."""
        if not rows.num_rows:
            return
        self._last_offset = check_order(rows, self._last_offset)
        rows, start = conformed(rows), 0
        ends = row_ends(rows)
        while start < rows.num_rows:
            stop = fitting(ends, start, self._group_bytes - self._waiting_bytes)
            if stop == start and not self._waiting:
                stop += 1  # one row that is larger than a group
            self._keep(
                rows.slice(start, stop - start), int(ends[stop - 1] - (ends[start - 1] if start else 0))
            )
            if stop < rows.num_rows:
                self._flush()
            start = stop

    def close(self) -> WrittenFile:
        """Write the last group and the footer."""
        self._flush()
        self._parquet.close()
        whole = io.BytesIO()
        self._collected[0].write_metadata_file(whole)
        tail = whole.getvalue()[_MAGIC_BYTES:]
        footer = read_footer(tail)
        return WrittenFile(self._output.tell(), tail, tail_crc(tail), footer, row_groups(footer))

    def _keep(self, rows: pa.RecordBatch, size_bytes: int) -> None:
        if rows.num_rows:
            self._waiting.append(rows)
            self._waiting_bytes += size_bytes

    def _flush(self) -> None:
        if self._waiting:
            table = pa.Table.from_batches(self._waiting)
            self._parquet.write_table(table, row_group_size=table.num_rows)
            self._waiting, self._waiting_bytes = [], 0
