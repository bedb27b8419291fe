"""DuckDB view of a topic's rows.

Parquet files that are wholly inside the snapshot form one pyarrow dataset: DuckDB pushes the columns and
filters of a query down to it, so files and row groups without matching rows are not read. A file that is
partly outside, because the log start offset or the end of the snapshot lies in it, gets a filter on the
offset. Rows of WAL objects are an in-memory table.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from dray.formats.parquet_v1 import SCHEMA
from dray.index import ParquetEntry
from dray.scan.blocking import BlockingStore
from dray.scan.ranges import EntryRange
from dray.sql.files import Failures, StoredFile
from dray.sql.hot import hot_rows

_FORMAT: Final = ds.ParquetFileFormat(
    default_fragment_scan_options=ds.ParquetFragmentScanOptions(
        pre_buffer=True, page_checksum_verification=True
    )
)
_TIME: Final = pa.timestamp("us", "UTC")
_MICROS: Final = 1000
_TIME_MS_MAX: Final = (1 << 63) // _MICROS - 1
"""Later timestamps are stored as the latest that the column can hold."""

_ONE_ROW: Final = pa.table({field.name: pa.nulls(1, field.type) for field in SCHEMA})
_NOT_OPENED: Final = "error('name the topic in the query itself')"


class TopicRows:
    """The rows of one topic; must outlive its views."""

    def __init__(
        self, store: BlockingStore, entry_ranges: Sequence[EntryRange], failures: Failures, spill: Path
    ) -> None:
        parquet = [
            (entry_range, entry_range.entry)
            for entry_range in entry_ranges
            if isinstance(entry_range.entry, ParquetEntry) and entry_range.entry.record_count
        ]
        files = [
            (entry_range, _fragment(store, entry_range.partition, entry, failures))
            for entry_range, entry in parquet
        ]
        whole = [file for entry_range, file in files if entry_range.is_whole]
        self._whole = _dataset(whole) if whole else None
        self._cut = [
            (entry_range, _dataset([file])) for entry_range, file in files if not entry_range.is_whole
        ]
        self._hot = hot_rows(store, entry_ranges, spill)

    def show(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        """Create the view, or replace it."""
        rows = connection.from_arrow(self._hot)
        for part in self._parquet(connection):
            rows = rows.union(part)
        rows.create_view(name, replace=True)

    def _parquet(self, connection: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyRelation]:
        if self._whole is not None:
            yield connection.from_arrow(self._whole)
        for entry_range, dataset in self._cut:
            between = f'"offset" >= {entry_range.first_offset} AND "offset" < {entry_range.end_offset}'
            yield connection.from_arrow(dataset).filter(between)


def show_columns(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Create a view that can be listed and described, but not queried: its rows have not been opened."""
    connection.from_arrow(_ONE_ROW).filter(_NOT_OPENED).create_view(name, replace=True)


def _dataset(files: Sequence[ds.ParquetFileFragment]) -> ds.FileSystemDataset:
    return ds.FileSystemDataset(files, SCHEMA, _FORMAT)


def _fragment(
    store: BlockingStore, partition: int, entry: ParquetEntry, failures: Failures
) -> ds.ParquetFileFragment:
    return _FORMAT.make_fragment(
        StoredFile(store, partition, entry, failures), partition_expression=_known(partition, entry)
    )


def _known(partition: int, entry: ParquetEntry) -> ds.Expression:
    """Return bounds that hold for all rows of a file, with which DuckDB skips it without opening it."""
    known = (
        (ds.field("partition") == pa.scalar(partition, pa.int32()))
        & (ds.field("offset") >= entry.start_offset)
        & (ds.field("offset") < entry.end_offset)
    )
    low, high = entry.min_timestamp_ms, entry.max_timestamp_ms
    if not 0 <= low <= high < _TIME_MS_MAX:
        return known
    first, end = pa.scalar(low * _MICROS, _TIME), pa.scalar((high + 1) * _MICROS, _TIME)
    return known & (ds.field("timestamp") >= first) & (ds.field("timestamp") < end)
