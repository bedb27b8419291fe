"""All rows of a topic as one view of DuckDB.

Whole Parquet files are one dataset of pyarrow: DuckDB gives it the columns and the conditions of a query, and
files and row groups that cannot hold a wanted row are not read. A file of which the query sees a part,
because the log starts or the query's offsets end inside it, is filtered besides. The rows from WAL objects
are a table in memory.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from dray.formats.parquet_v1 import SCHEMA
from dray.index import ParquetEntry
from dray.pipeline.blocking import BlockingStore
from dray.pipeline.reading.stretches import Stretch
from dray.pipeline.sql.files import StoredFile, Troubles
from dray.pipeline.sql.hot import hot_rows

_FORMAT: Final = ds.ParquetFileFormat(
    default_fragment_scan_options=ds.ParquetFragmentScanOptions(
        pre_buffer=True, page_checksum_verification=True
    )
)
_TIME: Final = pa.timestamp("us", "UTC")
_MICROS: Final = 1000
_TIME_MS_MAX: Final = (1 << 63) // _MICROS - 1
"""Later ones stand in the file as the latest that it can hold."""

_ONE_ROW: Final = pa.table({field.name: pa.nulls(1, field.type) for field in SCHEMA})
_NOT_OPENED: Final = "error('name the topic in the query itself')"


class TopicRows:
    """The rows of one topic, to be kept as long as a view of them."""

    def __init__(
        self, store: BlockingStore, stretches: Sequence[Stretch], troubles: Troubles, spill: Path
    ) -> None:
        parquet = [
            (stretch, stretch.entry)
            for stretch in stretches
            if isinstance(stretch.entry, ParquetEntry) and stretch.entry.record_count
        ]
        files = [
            (stretch, _fragment(store, stretch.partition, entry, troubles)) for stretch, entry in parquet
        ]
        whole = [file for stretch, file in files if stretch.is_whole]
        self._whole = _dataset(whole) if whole else None
        self._cut = [(stretch, _dataset([file])) for stretch, file in files if not stretch.is_whole]
        self._hot = hot_rows(store, stretches, spill)

    def show(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        """Make the view, in the place of one before."""
        rows = connection.from_arrow(self._hot)
        for part in self._parquet(connection):
            rows = rows.union(part)
        rows.create_view(name, replace=True)

    def _parquet(self, connection: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyRelation]:
        if self._whole is not None:
            yield connection.from_arrow(self._whole)
        for stretch, dataset in self._cut:
            between = f'"offset" >= {stretch.first_offset} AND "offset" < {stretch.end_offset}'
            yield connection.from_arrow(dataset).filter(between)


def show_columns(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Make a view that can be listed and described; its rows have not been opened, as nothing names it."""
    connection.from_arrow(_ONE_ROW).filter(_NOT_OPENED).create_view(name, replace=True)


def _dataset(files: Sequence[ds.ParquetFileFragment]) -> ds.FileSystemDataset:
    return ds.FileSystemDataset(files, SCHEMA, _FORMAT)


def _fragment(
    store: BlockingStore, partition: int, entry: ParquetEntry, troubles: Troubles
) -> ds.ParquetFileFragment:
    return _FORMAT.make_fragment(
        StoredFile(store, partition, entry, troubles), partition_expression=_known(partition, entry)
    )


def _known(partition: int, entry: ParquetEntry) -> ds.Expression:
    """Say what is true of all rows of a file, so that it need not be opened to see that none is wanted."""
    known = (
        (ds.field("partition") == pa.scalar(partition, pa.int32()))
        & (ds.field("offset") >= entry.start_offset)
        & (ds.field("offset") < entry.end_offset)
    )
    low, high = entry.min_timestamp_ms, entry.max_timestamp_ms
    if not 0 <= low <= high < _TIME_MS_MAX:
        return known
    first, behind = pa.scalar(low * _MICROS, _TIME), pa.scalar((high + 1) * _MICROS, _TIME)
    return known & (ds.field("timestamp") >= first) & (ds.field("timestamp") < behind)
