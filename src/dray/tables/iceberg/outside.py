"""A topic's table as others see it: its place in the catalogue and the store, and its rows through PyIceberg.

Beside the port, because Dray itself needs none of it. All of it blocks.
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
class Place:
    """Where a table is. `metadata_location` is the metadata file of this moment; a commit makes another."""

    name: str
    location: str
    metadata_location: str
    snapshot_ms: int | None


def place_of(settings: IcebergSettings, table: TopicTable) -> Place:
    """Ask the catalogue where the table is; raises `TablesError`."""
    with _loaded(settings, table) as found:
        snapshot = found.current_snapshot()
        return Place(
            ".".join(found.name()),
            found.location(),
            found.metadata_location,
            snapshot.timestamp_ms if snapshot else None,
        )


def rows_of(settings: IcebergSettings, table: TopicTable) -> pa.Table:
    """Read all rows of the table, as any user of PyIceberg would; raises `TablesError`."""
    with _loaded(settings, table) as found, reading(f"rows of table {'.'.join(found.name())}"):
        return found.scan().to_arrow()


@contextmanager
def _loaded(settings: IcebergSettings, table: TopicTable) -> Iterator[Table]:
    with reading("the catalogue"):
        catalog = open_catalog(settings)
    try:
        yield ownership.load(catalog, settings, table)
    finally:
        catalog.close()
