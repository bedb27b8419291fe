"""Tables in directories whose names a URL would escape: readers of Iceberg do not unescape paths."""

from pathlib import Path

import pytest

from dray.objects.url import parse_storage_url
from dray.server.catalog import table_root
from dray.server.errors import StartupError
from dray.tables.iceberg import IcebergSettings, SqlCatalogSettings
from dray.tables.names import table_folder
from dray.tables.port import Job
from dray.testing.contracts.tables import ORDERS
from tests.tables.duck import reading_iceberg
from tests.tables.iceberg_harness import IcebergHarness


def names_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


@pytest.mark.parametrize("name", ["my data", "50% übrig", "a+b&c=d"])
async def test_every_reader_finds_the_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    root = table_root(parse_storage_url(f"file:{tmp_path / name}"), None)
    catalog = SqlCatalogSettings(path=str(tmp_path / "catalog.db"))
    harness = IcebergHarness(IcebergSettings(catalog=catalog, root=root, cluster_id="cluster-1"))
    tables = await harness.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    await tables.append(ORDERS, [harness.file(0, 0, 5)], Job("a"))
    assert harness.theirs(ORDERS).scan().to_arrow()["offset"].to_pylist() == [0, 1, 2, 3, 4]
    metadata = harness.theirs(ORDERS).metadata_location.removeprefix("file://")
    with reading_iceberg() as duck:
        assert duck.execute("SELECT count(*) FROM iceberg_scan(?)", [metadata]).fetchone() == (5,)
    await harness.close()
    assert names_in(tmp_path) == {name, "catalog.db"}


@pytest.mark.parametrize("name", ["what?", "c#"])
def test_directory_that_no_reader_would_find_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StartupError, match=rf"tables cannot be in .* cut paths at '[{name[-1]}]'"):
        table_root(parse_storage_url(f"file:{tmp_path / name}"), None)
