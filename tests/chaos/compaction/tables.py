"""Reader of the topic's table that shares no code with Dray: PyIceberg on the catalog's own schema."""

from dataclasses import dataclass

import pyarrow.compute as pc
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import PyArrowFileIO

from dray.server.catalog import iceberg_settings
from dray.settings import DraySettings
from dray.tables.iceberg.catalogs import open_catalog
from tests.chaos.compaction.contents import content, name_of
from tests.chaos.producers import TOPIC

_COLUMNS = ("partition", "offset", "timestamp", "key", "value", "headers")


@dataclass(frozen=True, slots=True)
class TableRows:
    """All rows by partition, ordered by offset, and the data files they are in."""

    rows: dict[int, list[tuple[int, str]]]
    files: frozenset[str]


class TableReader:
    """Reads the table, over one connection to the catalog."""

    def __init__(self, settings: DraySettings) -> None:
        self._settings = iceberg_settings(settings.tables, settings.storage, cluster_id="")
        self._catalog: Catalog | None = None

    def read(self) -> TableRows:
        table = self._opened().load_table((self._settings.namespace, TOPIC))
        scan = table.scan(selected_fields=_COLUMNS)
        root = f"{self._settings.root}/"
        files = frozenset(task.file.file_path.removeprefix(root) for task in scan.plan_files())
        found = scan.to_arrow()
        times = pc.cast(pc.cast(found["timestamp"], "int64"), "int64").to_pylist()
        rows: dict[int, list[tuple[int, str]]] = {}
        columns = (found[name].to_pylist() for name in ("partition", "offset", "key", "value", "headers"))
        for time_us, partition, offset, key, value, headers in zip(times, *columns, strict=True):
            pairs = [(one["key"], one["value"]) for one in headers or ()]
            name = name_of(content(key, value, pairs, time_us // 1000))
            rows.setdefault(partition, []).append((offset, name))
        return TableRows({partition: sorted(some) for partition, some in rows.items()}, files)

    def close(self) -> None:
        if self._catalog is not None:
            self._catalog.close()

    def _opened(self) -> Catalog:
        if self._catalog is None:
            self._catalog = open_catalog(self._settings)
            self._catalog.properties["py-io-impl"] = f"{PyArrowFileIO.__module__}.PyArrowFileIO"
        return self._catalog
