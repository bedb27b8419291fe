"""Inspection of a topic's table for commands: its location in catalog and store, and its rows.

Not part of the port, because the engine itself does not need it. All calls block.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.table import Table

from dray.tables.iceberg import ownership
from dray.tables.iceberg.catalogs import open_catalog
from dray.tables.iceberg.errors import reading
from dray.tables.iceberg.settings import IcebergSettings
from dray.tables.port import TopicTable


@dataclass(frozen=True, slots=True)
class TableLocation:
    """Where a table is. `metadata_location` is the current metadata file; each commit writes another."""

    name: str
    location: str
    metadata_location: str
    snapshot_ms: int | None


def table_location(settings: IcebergSettings, table: TopicTable) -> TableLocation:
    """Look the table up in the catalog; raises `TablesError`."""
    with _loaded(settings, table) as found:
        snapshot = found.current_snapshot()
        return TableLocation(
            ".".join(found.name()),
            found.location(),
            found.metadata_location,
            snapshot.timestamp_ms if snapshot else None,
        )


def rows_of(settings: IcebergSettings, table: TopicTable) -> pa.Table:
    """Read all rows of the table through PyIceberg; raises `TablesError`."""
    with _loaded(settings, table) as found, reading(f"rows of table {'.'.join(found.name())}"):
        return found.scan().to_arrow()


@contextmanager
def _loaded(settings: IcebergSettings, table: TopicTable) -> Iterator[Table]:
    with reading("the catalog"):
        catalog = open_catalog(settings)
    try:
        yield ownership.load(catalog, settings, table)
    finally:
        catalog.close()
