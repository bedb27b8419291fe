"""Iceberg catalogs for tests, with clients of ours and an external client that uses plain PyIceberg."""

from pathlib import Path

from pyiceberg.catalog import Catalog
from pyiceberg.io import load_file_io
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import Table
from pyiceberg.types import LongType, StringType

from dray.runtime import SystemClock, SystemEntropy
from dray.tables.iceberg import IcebergSettings, IcebergTables, bucket_io
from dray.tables.iceberg.catalogs import open_catalog
from dray.tables.iceberg.ownership import identifier
from dray.tables.port import DataFile, TopicTable
from dray.testing.contracts.tables import Alteration
from tests.tables.parquet import ParquetFiles, rows


class IcebergHarness:
    """What the contract needs, over any catalog; without `root`, the warehouse is a local directory."""

    def __init__(self, settings: IcebergSettings, root: Path | None = None) -> None:
        self.settings = settings
        self.root = root or Path(settings.root.removeprefix("file://"))
        self._files = ParquetFiles(self.root)
        self._opened: list[IcebergTables] = []
        self._external: Catalog | None = None

    async def open(self, *, forgets_moved: bool = False) -> IcebergTables:
        made = IcebergTables(self.settings, SystemClock(), SystemEntropy(), forgets_moved=forgets_moved)
        self._opened.append(made)
        return self._opened[-1]

    def file(self, partition: int, first_offset: int, records: int) -> DataFile:
        return self._files.file(partition, first_offset, records)

    def insert(self, table: TopicTable, partition: int, records: int) -> None:
        self.theirs(table).append(rows(partition, 1_000_000, records))

    def delete(self, table: TopicTable, path: str) -> None:
        found = self.theirs(table)
        [task] = [one for one in found.scan().plan_files() if one.file.file_path.endswith(f"/{path}")]
        with found.transaction() as transaction, transaction.update_snapshot().overwrite() as change:
            change.delete_data_file(task.file)

    def drop(self, table: TopicTable) -> None:
        self.external.drop_table(identifier(self.settings, table))

    def alter(self, table: TopicTable, how: Alteration) -> None:
        with self.theirs(table).update_schema(allow_incompatible_changes=True) as change:
            if how == "add":
                change.add_column("country", StringType())
            elif how == "rename":
                change.rename_column("value", "payload")
            elif how == "drop":
                change.delete_column("attributes")
            else:
                change.update_column("attributes", LongType())

    def theirs(self, table: TopicTable) -> Table:
        """Load the table as an external client."""
        return self.external.load_table(identifier(self.settings, table))

    @property
    def external(self) -> Catalog:
        if self._external is None:
            self._external = open_catalog(self.settings)
            if self.settings.files is None:  # else only our FileIO reaches the warehouse
                self._external.properties["py-io-impl"] = f"{PyArrowFileIO.__module__}.PyArrowFileIO"
        return self._external

    async def close(self) -> None:
        for client in self._opened:
            await client.close()
        if self._external is not None:
            self._external.close()


class CloudHarness(IcebergHarness):
    """A warehouse in a bucket; `folder` keeps a copy of the data files."""

    def __init__(self, settings: IcebergSettings, folder: Path) -> None:
        super().__init__(settings, folder)
        assert settings.files is not None
        self.io = load_file_io(dict(bucket_io.properties(settings.files)), settings.root)

    def file(self, partition: int, first_offset: int, records: int) -> DataFile:
        made = super().file(partition, first_offset, records)
        with self.io.new_output(f"{self.settings.root}/{made.path}").create() as output:
            output.write((self.root / made.path).read_bytes())
        return made
