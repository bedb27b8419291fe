"""The contract of the SQLite store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dray.testing.contracts.meta import MetaContract
from tests.meta.sqlite_harness import SqliteHarness


class TestSqlite(MetaContract):
    @pytest.fixture
    async def harness(self, tmp_path: Path) -> AsyncIterator[SqliteHarness]:
        harness = SqliteHarness(tmp_path / "meta.db")
        yield harness
        await harness.close()
