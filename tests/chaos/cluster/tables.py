"""Tables of the topics in the end: after a last compaction they have every record of the log, once.

They are read by PyIceberg on the catalog's own schema, without code of Dray.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from pyiceberg.io.pyarrow import PyArrowFileIO

from dray.server.catalog import iceberg_settings
from dray.settings import load_settings
from dray.settings.storage import StorageSettings
from dray.tables.iceberg.catalogs import open_catalog
from tests.chaos.cluster.checks import Stored
from tests.chaos.compaction.rules import equality_violations
from tests.chaos.histories import Records, name_of

_COLUMNS: Final = ("partition", "offset", "value")


class Table(NamedTuple):
    """The rows of one table by partition, and how many snapshots it still has."""

    rows: Records
    snapshots: int


def read_tables(config: Path, topics: Mapping[str, int]) -> dict[str, Table]:
    settings = load_settings(str(config), {}, {}, ()).settings
    access = iceberg_settings(settings.tables, settings.storage, cluster_id="")
    catalog = open_catalog(access)
    catalog.properties |= _bucket(settings.storage)
    found = {}
    try:
        for topic in topics:
            table = catalog.load_table((access.namespace, topic))
            columns = table.scan(selected_fields=_COLUMNS).to_arrow()
            rows: dict[int, list[tuple[int, str]]] = {}
            for partition, offset, value in zip(
                *(columns[name].to_pylist() for name in _COLUMNS), strict=True
            ):
                rows.setdefault(partition, []).append((offset, name_of(value)))
            ordered = {partition: sorted(some) for partition, some in rows.items()}
            found[topic] = Table(ordered, len(table.metadata.snapshots))
    finally:
        catalog.close()
    return found


def _bucket(storage: StorageSettings) -> dict[str, str]:
    """Return PyIceberg's properties for its own access to the bucket."""
    secret = storage.secret_access_key
    given = {
        "py-io-impl": f"{PyArrowFileIO.__module__}.{PyArrowFileIO.__name__}",
        "s3.endpoint": storage.endpoint,
        "s3.region": storage.region,
        "s3.access-key-id": storage.access_key_id,
        "s3.secret-access-key": None if secret is None else secret.reveal(),
    }
    return {name: value for name, value in given.items() if value is not None}


def table_violations(tables: Mapping[str, Table], stored: Stored) -> Iterator[str]:
    """Compare each table with the log: they must be equal."""
    for topic, records in stored.records.items():
        for line in equality_violations(tables[topic].rows, records):
            yield f"{line} (table of {topic})"
