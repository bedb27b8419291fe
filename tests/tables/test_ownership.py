"""Whose table it is, and what becomes of tables that others rename, make or damage."""

from dataclasses import replace

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from dray.runtime import SystemClock, SystemEntropy
from dray.tables.iceberg import IcebergTables
from dray.tables.iceberg.ownership import identifier
from dray.tables.port import Job, NotOurs, TableMissing, TopicTable, Unavailable
from dray.testing.contracts.tables import ORDERS, live
from tests.tables.iceberg_harness import IcebergHarness


async def test_a_table_lives_where_the_spec_says(sql: IcebergHarness) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS)
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


async def test_a_renamed_table_is_missing_until_it_has_its_name_again(sql: IcebergHarness) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS)
    first, second = sql.file(0, 0, 5), sql.file(0, 5, 5)
    await tables.append(ORDERS, [first], Job("a"))
    name = identifier(sql.settings, ORDERS)
    sql.somebody.rename_table(name, ("dray", "elsewhere"))
    with pytest.raises(TableMissing, match=r"dray\.orders_x2e_v1_x2d_eu: .* renamed"):
        await tables.append(ORDERS, [second], Job("b"))
    sql.somebody.rename_table(("dray", "elsewhere"), name)
    await tables.append(ORDERS, [second], Job("b"))
    assert (await tables.current(ORDERS)).files == (live(first), live(second))


async def test_a_table_that_somebody_made_is_not_written(sql: IcebergHarness) -> None:
    tables = await sql.open()
    sql.somebody.create_namespace("dray")
    theirs = Schema(NestedField(1, "id", LongType(), required=False))
    sql.somebody.create_table(identifier(sql.settings, ORDERS), theirs)
    sql.somebody.create_table(("dray", "Reports"), theirs)
    for call in (tables.create_if_missing, tables.current, tables.drop):
        with pytest.raises(NotOurs, match="use another namespace"):
            await call(ORDERS)
    assert await tables.list_tables() == ()


async def test_two_clusters_on_one_catalogue_do_not_mix(sql: IcebergHarness) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS)
    other = IcebergTables(replace(sql.settings, cluster_id="cluster-2"), SystemClock(), SystemEntropy())
    with pytest.raises(NotOurs, match="cluster-1"):
        await other.create_if_missing(ORDERS)
    invoices = TopicTable("invoices", "topic-id-9")
    await other.create_if_missing(invoices)
    assert (await tables.list_tables(), await other.list_tables()) == ((ORDERS,), (invoices,))
    await other.close()


async def test_a_nested_namespace(sql: IcebergHarness) -> None:
    tables = IcebergTables(replace(sql.settings, namespace="lake.dray"), SystemClock(), SystemEntropy())
    await tables.create_if_missing(ORDERS)
    assert await tables.list_tables() == (ORDERS,)
    assert sql.somebody.list_tables(("lake", "dray")) == [("lake", "dray", "orders_x2e_v1_x2d_eu")]
    await tables.close()


async def test_metadata_that_is_gone_is_named(sql: IcebergHarness) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS)
    metadata = sql.root / f"iceberg/topic={ORDERS.topic}/metadata"
    [file] = metadata.iterdir()
    file.rename(metadata / "aside")
    with pytest.raises(Unavailable, match=file.name):
        await tables.current(ORDERS)
    (metadata / "aside").rename(file)
    assert (await tables.current(ORDERS)).files == ()
