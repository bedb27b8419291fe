"""A data directory that was moved, copied, or is called by another name."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from dray.objects.url import parse_storage_url
from dray.server.catalog import table_root
from dray.tables.iceberg import IcebergSettings, SqlCatalogSettings
from dray.tables.iceberg.inspection import table_location
from dray.tables.names import spare_folder, table_folder
from dray.tables.port import Job, Listing
from dray.testing.contracts.tables import ORDERS, live
from tests.tables.iceberg_harness import IcebergHarness


@asynccontextmanager
async def opened(directory: Path) -> AsyncIterator[IcebergHarness]:
    """A catalog and its files, both in one directory."""
    (directory / "objects").mkdir(parents=True, exist_ok=True)
    harness = IcebergHarness(
        IcebergSettings(
            catalog=SqlCatalogSettings(path=str(directory / "tables.sqlite")),
            root=table_root(parse_storage_url(f"file:{directory / 'objects'}"), None),
            cluster_id="cluster-1",
        )
    )
    yield harness
    await harness.close()


async def filled(directory: Path, folder: str = table_folder(ORDERS.topic)) -> None:
    async with opened(directory) as harness:
        tables = await harness.open()
        await tables.create_if_missing(ORDERS, folder)
        await tables.append(ORDERS, [harness.file(0, 0, 5)], Job("a"))


def paths(directory: Path) -> set[Path]:
    return {path for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize("folder", [table_folder(ORDERS.topic), spare_folder(ORDERS.topic, "0123")])
async def test_tables_of_a_moved_directory_are_made_again(tmp_path: Path, folder: str) -> None:
    await filled(tmp_path / "before", folder)
    (tmp_path / "before").rename(tmp_path / "my data")
    async with opened(tmp_path / "my data") as harness:
        tables = await harness.open(forgets_moved=True)
        assert await tables.listing() == Listing((), {}, {})
        await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
        file = harness.file(0, 0, 5)
        await tables.append(ORDERS, [file], Job("b"))
        assert (await tables.current(ORDERS)).files == (live(file),)
        assert table_location(harness.settings, ORDERS).location.startswith(harness.settings.root)
    assert not (tmp_path / "before").exists()


async def test_copy_leaves_the_original_alone(tmp_path: Path) -> None:
    await filled(tmp_path / "original")
    before = paths(tmp_path / "original")
    shutil.copytree(tmp_path / "original", tmp_path / "50% of it")
    async with opened(tmp_path / "50% of it") as harness:
        tables = await harness.open(forgets_moved=True)
        await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
        await tables.append(ORDERS, [harness.file(0, 5, 5)], Job("b"))
        assert len(harness.theirs(ORDERS).scan().to_arrow()) == 5
    assert paths(tmp_path / "original") == before
    async with opened(tmp_path / "original") as harness:
        assert [file.first_offset for file in (await (await harness.open()).current(ORDERS)).files] == [0]


async def test_readers_do_not_drop_moved_tables(tmp_path: Path) -> None:
    """It may see the directory by a name that it has only there, as outside of a container."""
    await filled(tmp_path / "before")
    (tmp_path / "before").rename(tmp_path / "outside")
    async with opened(tmp_path / "outside") as harness:
        assert not (await (await harness.open()).listing()).tables
    (tmp_path / "outside").rename(tmp_path / "before")
    async with opened(tmp_path / "before") as harness:
        assert (await (await harness.open()).listing()).tables == (ORDERS,)


async def test_directory_by_another_name_is_the_same(tmp_path: Path) -> None:
    await filled(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    async with opened(tmp_path / "link") as harness:
        tables = await harness.open(forgets_moved=True)
        assert (await tables.listing()).tables == (ORDERS,)
        assert table_location(harness.settings, ORDERS).location.startswith((tmp_path / "real").as_uri())


async def test_foreign_tables_are_not_touched(tmp_path: Path) -> None:
    theirs = Schema(NestedField(1, "id", LongType(), required=False))
    await filled(tmp_path / "before")
    async with opened(tmp_path / "before") as harness:
        for name in ("reports", "Reports"):
            harness.external.create_table(
                ("dray", name), theirs, location=(tmp_path / "reports" / name).as_uri()
            )
    (tmp_path / "before").rename(tmp_path / "after")
    async with opened(tmp_path / "after") as harness:
        assert (await (await harness.open(forgets_moved=True)).listing()).tables == ()
        assert sorted(harness.external.list_tables("dray")) == [("dray", "Reports"), ("dray", "reports")]
        assert harness.external.load_table(("dray", "reports")).schema() == theirs


async def test_table_moved_to_another_namespace_keeps_its_entry(tmp_path: Path) -> None:
    await filled(tmp_path / "before")
    async with opened(tmp_path / "before") as harness:
        harness.external.create_namespace("archive")
        name = harness.theirs(ORDERS).name()
        harness.external.rename_table(name, ("archive", name[-1]))
    (tmp_path / "before").rename(tmp_path / "after")
    async with opened(tmp_path / "after") as harness:
        assert (await (await harness.open(forgets_moved=True)).listing()).tables == ()
        assert harness.external.list_tables("archive") == [("archive", name[-1])]


async def test_another_cluster_on_the_same_catalog_keeps_its_table(tmp_path: Path) -> None:
    await filled(tmp_path / "one")
    await filled(tmp_path / "two")
    shutil.copy(tmp_path / "one" / "tables.sqlite", tmp_path / "two" / "tables.sqlite")
    async with opened(tmp_path / "two") as harness:
        await (await harness.open(forgets_moved=True)).listing()
        assert harness.theirs(ORDERS).location().startswith((tmp_path / "one").as_uri())
