"""Ownership of tables, and tables that other engines rename, create or damage."""

import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.typedef import Identifier
from pyiceberg.types import LongType, NestedField

from dray.runtime import SystemClock, SystemEntropy
from dray.tables.iceberg import IcebergTables, SqlCatalogSettings
from dray.tables.iceberg.ownership import identifier
from dray.tables.names import table_folder
from dray.tables.port import Job, NotOurs, TableAltered, TableDamaged, TableMissing, TopicTable
from dray.testing.contracts.tables import ORDERS, live
from tests.tables.iceberg_harness import IcebergHarness


async def test_table_location_is_namespace_and_topic(sql: IcebergHarness) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    found = sql.theirs(ORDERS)
    assert found.name() == ("dray", "orders_x2e_v1_x2d_eu")
    assert found.location() == f"{sql.settings.root}/iceberg/topic=orders.v1-eu"
    assert {name: value for name, value in found.properties.items() if name.startswith("dray.")} == {
        "dray.topic": "orders.v1-eu",
        "dray.topic-id": "topic-id-1",
        "dray.cluster-id": "cluster-1",
        "dray.schema-version": "1",
    }
    assert [field.name for field in found.spec().fields] == ["partition"]


async def test_renamed_table_is_missing_until_it_has_its_name_again(sql: IcebergHarness) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    first, second = sql.file(0, 0, 5), sql.file(0, 5, 5)
    await tables.append(ORDERS, [first], Job("a"))
    name = identifier(sql.settings, ORDERS)
    sql.external.rename_table(name, ("dray", "elsewhere"))
    with pytest.raises(TableMissing, match=r"dray\.orders_x2e_v1_x2d_eu: .* renamed"):
        await tables.append(ORDERS, [second], Job("b"))
    sql.external.rename_table(("dray", "elsewhere"), name)
    await tables.append(ORDERS, [second], Job("b"))
    assert (await tables.current(ORDERS)).files == (live(first), live(second))


async def test_foreign_table_is_not_written(sql: IcebergHarness) -> None:
    tables = await sql.open()
    sql.external.create_namespace("dray")
    theirs = Schema(NestedField(1, "id", LongType(), required=False))
    sql.external.create_table(identifier(sql.settings, ORDERS), theirs)
    sql.external.create_table(("dray", "Reports"), theirs)
    for call in (partial(tables.create_if_missing, folder="iceberg/x"), tables.current, tables.drop):
        with pytest.raises(NotOurs, match="use another namespace"):
            await call(ORDERS)
    assert (await tables.listing()).tables == ()


async def test_two_clusters_on_one_catalog_do_not_mix(sql: IcebergHarness) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    other = IcebergTables(replace(sql.settings, cluster_id="cluster-2"), SystemClock(), SystemEntropy())
    with pytest.raises(NotOurs, match="cluster-1"):
        await other.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    invoices = TopicTable("invoices", "topic-id-9")
    await other.create_if_missing(invoices, table_folder(invoices.topic))
    assert ((await tables.listing()).tables, (await other.listing()).tables) == ((ORDERS,), (invoices,))
    await other.close()


async def test_tables_are_created_in_a_nested_namespace(sql: IcebergHarness) -> None:
    tables = IcebergTables(replace(sql.settings, namespace="lake.dray"), SystemClock(), SystemEntropy())
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    assert (await tables.listing()).tables == (ORDERS,)
    assert sql.external.list_tables(("lake", "dray")) == [("lake", "dray", "orders_x2e_v1_x2d_eu")]
    await tables.close()


async def test_missing_metadata_is_reported_by_name(sql: IcebergHarness) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    metadata = sql.root / f"iceberg/topic={ORDERS.topic}/metadata"
    [file] = metadata.glob("*.metadata.json")
    file.rename(metadata / "aside")
    with pytest.raises(TableDamaged, match=rf"{file.name}.* restore it from a backup, or drop the table"):
        await tables.current(ORDERS)
    (metadata / "aside").rename(file)
    assert (await tables.current(ORDERS)).files == ()


@pytest.mark.parametrize("name", ["zz_orders", "Orders-Backup"])
async def test_renamed_table_belongs_to_no_topic_and_is_listed_once(sql: IcebergHarness, name: str) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    await tables.append(ORDERS, [sql.file(0, 0, 5)], Job("a"))
    renamed = ("dray", name)
    folder = await tables.folder(ORDERS)
    sql.external.rename_table(identifier(sql.settings, ORDERS), renamed)
    listing = await tables.listing()
    assert (listing.tables, dict(listing.elsewhere)) == ((), {f"dray.{name}": ORDERS})
    assert ORDERS not in listing
    await tables.create_if_missing(ORDERS, f"{folder}/another")
    listing = await tables.listing()
    assert (listing.tables, listing.folders) == (
        (ORDERS,),
        (folder, f"{folder}/another"),
    )
    assert await tables.folder(ORDERS) == f"{folder}/another"
    assert all(path.startswith(f"{folder}/another/") for path in await tables.reachable(ORDERS))


async def test_table_renamed_while_tables_are_listed_is_found(
    sql: IcebergHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    real = SqlCatalog.list_tables
    names = [identifier(sql.settings, ORDERS), ("dray", "archive"), ("dray", "archive_2")]

    def overtaken(catalog: SqlCatalog, namespace: str) -> list[Identifier]:
        listed = real(catalog, namespace)
        if len(names) > 1:
            sql.external.rename_table(names.pop(0), names[0])
        return listed

    monkeypatch.setattr(SqlCatalog, "list_tables", overtaken)
    listing = await tables.listing()
    assert dict(listing.elsewhere) == {"dray.archive_2": ORDERS}
    assert listing.is_whole


async def test_table_of_another_name_that_cannot_be_read_may_be_a_topics(sql: IcebergHarness) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    renamed = ("dray", "Backup")
    sql.external.rename_table(identifier(sql.settings, ORDERS), renamed)
    assert (await tables.listing()).is_whole
    _delete(sql.external.load_table(renamed).metadata_location)
    listing = await tables.listing()
    assert (listing.is_whole, list(listing.unreadable_others), dict(listing.unreadable)) == (
        False,
        ["dray.Backup"],
        {},
    )


async def test_unsupported_format_version_is_reported(sql: IcebergHarness) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    file = sql.file(0, 0, 5)
    await tables.append(ORDERS, [file], Job("a"))
    _upgrade(sql.theirs(ORDERS).metadata_location)
    for attempt in (
        tables.check(ORDERS),
        tables.append(ORDERS, [sql.file(0, 5, 5)], Job("b")),
        tables.replace(ORDERS, [file.path], [], Job("c")),
        tables.expire(ORDERS, 0),
    ):
        with pytest.raises(TableAltered, match="has format version 3, and Dray writes version 2"):
            await attempt
    assert [one.path for one in (await tables.current(ORDERS)).files] == [file.path]


async def test_table_is_known_by_its_name_if_it_does_not_say_the_topic(sql: IcebergHarness) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    with sql.theirs(ORDERS).transaction() as change:
        change.remove_properties("dray.topic")
    assert (await tables.listing()).tables == (ORDERS,)


def _upgrade(location: str) -> None:
    """Make it a table of version 3, as other engines can."""
    file = _path(location)
    file.write_bytes(
        msgspec.json.encode({**msgspec.json.decode(file.read_bytes()), "format-version": 3, "next-row-id": 0})
    )


def _delete(location: str) -> None:
    _path(location).unlink()


def _path(location: str) -> Path:
    return Path(location.removeprefix("file://"))


def _is_stored(harness: IcebergHarness, path: str) -> bool:
    return Path(harness.settings.root.removeprefix("file://"), path).is_file()


@pytest.mark.real("java")
async def test_iceberg_itself_deletes_no_data_file_when_a_table_is_purged(rest: IcebergHarness) -> None:
    tables = await rest.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    file = rest.file(0, 0, 5)
    await tables.append(ORDERS, [file], Job("a"))
    rest.external.purge_table(identifier(rest.settings, ORDERS))
    assert not (await tables.listing()).tables
    assert _is_stored(rest, file.path)


@pytest.mark.parametrize("lacking", [("dray.topic-id",), ("dray.topic-id", "dray.cluster-id")])
async def test_properties_that_were_removed_are_asked_for(
    sql: IcebergHarness, lacking: tuple[str, ...]
) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    with sql.theirs(ORDERS).transaction() as change:
        change.remove_properties(*lacking)
    with pytest.raises(NotOurs, match="set them again: ") as raised:
        await tables.current(ORDERS)
    values = {"dray.topic-id": ORDERS.topic_id, "dray.cluster-id": "cluster-1"}
    assert all(f"{key}={values[key]}" in str(raised.value) for key in lacking)
    assert "belongs to another" not in str(raised.value)
    with sql.theirs(ORDERS).transaction() as change:
        change.set_properties({key: values[key] for key in lacking})
    assert (await tables.current(ORDERS)).files == ()


async def test_deleted_catalog_file_is_reopened(sql: IcebergHarness) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    assert isinstance(sql.settings.catalog, SqlCatalogSettings)
    os.unlink(sql.settings.catalog.path)  # noqa: PTH108
    assert (await tables.listing()).tables == ()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    fresh = await sql.open()
    assert (await fresh.listing()).tables == (ORDERS,)
