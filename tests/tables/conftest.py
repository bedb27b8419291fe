"""Catalogs for the tests: one in a SQLite file for each test, and a real REST server for each run."""

from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest

from dray.tables.iceberg import IcebergSettings, RestCatalogSettings, SqlCatalogSettings
from tests.tables.iceberg_harness import IcebergHarness
from tests.tables.rest.server import RestServer, serve

_numbers = count()


@pytest.fixture
async def sql(tmp_path: Path) -> AsyncIterator[IcebergHarness]:
    root = tmp_path / "store"
    root.mkdir()
    catalog = SqlCatalogSettings(path=str(tmp_path / "catalog.db"))
    harness = IcebergHarness(IcebergSettings(catalog=catalog, root=root.as_uri(), cluster_id="cluster-1"))
    yield harness
    await harness.close()


@pytest.fixture(scope="session")
def rest_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    """The test must be marked `real("java")`."""
    with serve(tmp_path_factory.mktemp("rest-catalog") / "server") as server:
        yield server


@pytest.fixture
async def rest(rest_server: RestServer, tmp_path: Path) -> AsyncIterator[IcebergHarness]:
    """A namespace of its own on the shared server."""
    root = tmp_path / "store"
    root.mkdir()
    settings = IcebergSettings(
        catalog=RestCatalogSettings(uri=rest_server.uri),
        root=root.as_uri(),
        cluster_id="cluster-1",
        namespace=f"dray{next(_numbers)}",
    )
    harness = IcebergHarness(settings)
    yield harness
    await harness.close()
