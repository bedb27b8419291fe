"""The contract of catalogs: in memory, in SQLite, and Apache Iceberg's own REST server."""

from itertools import count
from typing import Final

import pytest

from dray.runtime import SystemClock
from dray.tables.port import DataFile, LiveFile, TopicTable
from dray.testing.contracts.tables import Alteration, TablesContract, TablesHarness
from dray.testing.memory_tables import MemoryCatalog, MemoryTables
from tests.tables.iceberg_harness import IcebergHarness

_MISFITS: Final[dict[Alteration, str]] = {
    "drop": "a column was dropped",
    "retype": "a column has another type",
}


class MemoryHarness:
    """An in-memory catalog; external changes call it directly."""

    def __init__(self) -> None:
        self._catalog = MemoryCatalog(SystemClock())
        self._numbers = count()

    async def open(self) -> MemoryTables:
        return MemoryTables(self._catalog)

    def file(self, partition: int, first_offset: int, records: int) -> DataFile:
        last = first_offset + records - 1
        return DataFile(f"file-{next(self._numbers)}", 100, records, partition, first_offset, last)

    def insert(self, table: TopicTable, partition: int, records: int) -> None:
        theirs = LiveFile("theirs", 100, records, partition, 0, records - 1)
        self._catalog.external_commit(table, [], [theirs])

    def delete(self, table: TopicTable, path: str) -> None:
        self._catalog.external_commit(table, [path], [])

    def drop(self, table: TopicTable) -> None:
        self._catalog.external_drop(table)

    def alter(self, table: TopicTable, how: Alteration) -> None:
        self._catalog.external_alter(table, _MISFITS.get(how))


class TestMemory(TablesContract):
    @pytest.fixture
    def harness(self) -> TablesHarness:
        return MemoryHarness()


class TestSql(TablesContract):
    @pytest.fixture
    def harness(self, sql: IcebergHarness) -> TablesHarness:
        return sql


@pytest.mark.real("java")
class TestRest(TablesContract):
    @pytest.fixture
    def harness(self, rest: IcebergHarness) -> TablesHarness:
        return rest
