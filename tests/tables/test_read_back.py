"""Committed rows, read by others: DuckDB's own Iceberg reader and PyIceberg's scan."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dray.tables.names import table_folder
from dray.tables.port import DataFile, Job
from dray.testing.contracts.tables import ORDERS
from tests.tables.duck import reading_iceberg
from tests.tables.iceberg_harness import IcebergHarness
from tests.tables.parquet import FIRST_US, rows

ROWS = """
    SELECT partition, "offset", timestamp, key, {value}, headers, attributes
    FROM iceberg_scan(?)
    ORDER BY 1, 2
"""


def expected(*files: DataFile) -> list[tuple[Any, ...]]:
    """The rows that went into the files."""
    names = ("partition", "offset", "timestamp", "key", "value", "headers", "attributes")
    found = [
        tuple(row[name] for name in names)
        for file in files
        for row in rows(file.partition, file.first_offset, file.records).to_pylist()
    ]
    return sorted(found, key=lambda row: row[:2])


def by_duckdb(harness: IcebergHarness, value: str = "value") -> list[tuple[Any, ...]]:
    location = harness.theirs(ORDERS).metadata_location
    with reading_iceberg() as duck:
        return duck.execute(ROWS.format(value=value), [location]).fetchall()


def by_pyiceberg(harness: IcebergHarness, value: str = "value") -> list[tuple[Any, ...]]:
    columns = ("partition", "offset", "timestamp", "key", value, "headers", "attributes")
    found = harness.theirs(ORDERS).scan(selected_fields=columns).to_arrow().to_pylist()
    return sorted((tuple(row[name] for name in columns) for row in found), key=lambda row: row[:2])


@pytest.fixture(params=["sql", pytest.param("rest", marks=pytest.mark.real("java"))])
def harness(request: pytest.FixtureRequest) -> IcebergHarness:
    found: IcebergHarness = request.getfixturevalue(request.param)
    return found


async def test_every_row_once_after_appends_a_rewrite_and_retention(harness: IcebergHarness) -> None:
    tables = await harness.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    first, second = harness.file(0, 0, 50), harness.file(0, 50, 30)
    other, old = harness.file(1, 7, 20), harness.file(2, 0, 5)
    await tables.append(ORDERS, [first, second, old], Job("a"))
    await tables.append(ORDERS, [other], Job("b"))
    whole = harness.file(0, 0, 80)
    await tables.replace(ORDERS, [first.path, second.path], [whole], Job("c"))
    await tables.replace(ORDERS, [old.path], [], Job("d"))
    await tables.append(ORDERS, [other], Job("b"))
    assert by_duckdb(harness) == expected(whole, other)
    assert by_pyiceberg(harness) == expected(whole, other)
    found = harness.theirs(ORDERS).snapshots()
    operations = [one.summary.operation.value for one in found if one.summary is not None]
    assert operations == ["append", "append", "replace", "delete"]
    assert [one.summary["total-records"] for one in found if one.summary is not None] == [
        "85",
        "105",
        "105",
        "100",
    ]


async def test_replacing_rows_by_others_is_an_overwrite(harness: IcebergHarness) -> None:
    tables = await harness.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    old, fewer = harness.file(0, 0, 10), harness.file(0, 2, 8)
    await tables.append(ORDERS, [old], Job("a"))
    await tables.replace(ORDERS, [old.path], [fewer], Job("b"))
    snapshot = harness.theirs(ORDERS).current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    assert snapshot.summary.operation.value == "overwrite"
    assert by_duckdb(harness) == expected(fewer)


async def test_readers_skip_files_by_partition_and_offset(harness: IcebergHarness) -> None:
    tables = await harness.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    files = [harness.file(partition, start, 10) for partition in (0, 1) for start in (0, 10, 20)]
    await tables.append(ORDERS, files, Job("a"))
    late = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=FIRST_US + 21_000)
    for condition, kept in {
        "partition = 1": files[3:],
        "offset >= 20": [files[2], files[5]],
        "partition = 0 and offset = 15": [files[1]],
        f"timestamp >= '{late.isoformat()}' and partition = 0": [files[2]],
    }.items():
        planned = harness.theirs(ORDERS).scan(condition).plan_files()
        assert {task.file.file_path.rpartition("/")[2] for task in planned} == {
            file.path.rpartition("/")[2] for file in kept
        }


async def test_renamed_column_and_an_added_one_are_read_from_our_next_file(harness: IcebergHarness) -> None:
    tables = await harness.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    first, second = harness.file(0, 0, 5), harness.file(0, 5, 5)
    await tables.append(ORDERS, [first], Job("a"))
    harness.alter(ORDERS, "rename")
    harness.alter(ORDERS, "add")
    await tables.append(ORDERS, [second], Job("b"))
    assert by_duckdb(harness, "payload") == expected(first, second)
    assert by_pyiceberg(harness, "payload") == expected(first, second)
