"""Version hints: readers that know only a table's folder find its current metadata."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyiceberg.table import StaticTable

from dray.tables.names import table_folder
from dray.tables.port import Job
from tests.tables.appending_process import TABLE, work
from tests.tables.duck import reading_iceberg
from tests.tables.iceberg_harness import IcebergHarness

FOLDER = table_folder(TABLE.topic)
DIES_BEFORE_ITS_HINT = """
import asyncio, os, sys
from pathlib import Path
from dray.tables.iceberg import version_hint
from tests.tables import appending_process
version_hint.write = lambda table: os._exit(9)
asyncio.run(appending_process.main(Path(sys.argv[1]), Path(sys.argv[2]), 2))
"""


def dies_before_its_hint(catalog: Path, root: Path) -> int:
    """Commit the next job in a process that ends before it writes the hint; returns its exit status."""
    command = [sys.executable, "-c", DIES_BEFORE_ITS_HINT, str(catalog), str(root)]
    environment = os.environ | {"PYTHONPATH": "src:."}
    return subprocess.run(command, cwd=Path(__file__).parents[2], env=environment, check=False).returncode


def hint_file(sql: IcebergHarness) -> Path:
    return sql.root / FOLDER / "metadata" / "version-hint.text"


def is_current(sql: IcebergHarness) -> bool:
    """Whether the hint names the metadata file that the catalog names."""
    return sql.theirs(TABLE).metadata_location.endswith(f"/{hint_file(sql).read_text()}.metadata.json")


async def test_readers_find_the_current_snapshot_by_the_tables_folder(sql: IcebergHarness) -> None:
    tables, folder = await sql.open(), str(sql.root / FOLDER)
    old, other = sql.file(0, 0, 5), sql.file(1, 0, 5)
    await tables.create_if_missing(TABLE, FOLDER)
    with reading_iceberg() as duck:
        query = "SELECT count(*) FROM iceberg_scan(?)"
        assert duck.execute(query, [folder]).fetchone() == (0,)
        await tables.append(TABLE, [old, other], Job("a"))
        assert duck.execute(query, [folder]).fetchone() == (10,)
        await tables.replace(TABLE, [old.path], [sql.file(0, 0, 7)], Job("b"))
        assert duck.execute(query, [folder]).fetchone() == (12,)
    assert StaticTable.from_metadata(folder).scan().to_arrow().num_rows == 12
    await tables.expire(TABLE, 4_102_444_800_000)
    assert is_current(sql)
    assert hint_file(sql).relative_to(sql.root).as_posix() in await tables.reachable(TABLE, data=False)
    await tables.drop(TABLE)
    assert not hint_file(sql).exists()


@pytest.mark.parametrize("then", ["the same job", "another job", "an expiry"])
async def test_crash_between_commit_and_hint_leaves_it_stale_until_the_next_commit_or_expiry(
    sql: IcebergHarness, tmp_path: Path, then: str
) -> None:
    tables, jobs = await sql.open(), work(2)
    await tables.create_if_missing(TABLE, FOLDER)
    await tables.append(TABLE, [jobs[0][0]], jobs[0][1])
    before = hint_file(sql).read_text()
    assert dies_before_its_hint(tmp_path / "catalog.db", sql.root) == 9
    assert hint_file(sql).read_text() == before
    assert not is_current(sql)
    stale = StaticTable.from_metadata(str(sql.root / FOLDER)).current_snapshot()
    assert stale is not None
    assert stale.summary is not None
    assert stale.summary["dray.job-id"] == "job-0"
    if then == "the same job":
        assert (await tables.append(TABLE, [jobs[1][0]], jobs[1][1])).repeated
    elif then == "another job":
        await tables.append(TABLE, [sql.file(1, 0, 5)], Job("next"))
    else:
        await tables.expire(TABLE, 0)
    assert is_current(sql)


async def test_commit_by_another_engine_leaves_the_hint_at_the_snapshot_before(sql: IcebergHarness) -> None:
    tables = await sql.open()
    await tables.create_if_missing(TABLE, FOLDER)
    await tables.append(TABLE, [sql.file(0, 0, 5)], Job("a"))
    sql.insert(TABLE, 0, 3)
    assert StaticTable.from_metadata(str(sql.root / FOLDER)).scan().to_arrow().num_rows == 5
    await tables.create_if_missing(TABLE, FOLDER)
    assert is_current(sql)


async def test_hint_that_cannot_be_written_fails_no_commit(
    sql: IcebergHarness, caplog: pytest.LogCaptureFixture
) -> None:
    tables = await sql.open()
    await tables.create_if_missing(TABLE, FOLDER)
    hint_file(sql).unlink()
    (hint_file(sql) / "in the way").mkdir(parents=True)
    assert (await tables.append(TABLE, [sql.file(0, 0, 5)], Job("a"))).snapshot_id is not None
    assert "version_hint_failed" in caplog.text
    assert [path.name for path in hint_file(sql).parent.glob(".*")] == []


@pytest.mark.real("java")
async def test_tables_behind_a_rest_catalog_get_no_hint(rest: IcebergHarness) -> None:
    tables = await rest.open()
    await tables.create_if_missing(TABLE, FOLDER)
    await tables.append(TABLE, [rest.file(0, 0, 5)], Job("a"))
    assert not list(rest.root.rglob("version-hint.text"))
    assert not [path for path in await tables.reachable(TABLE) if path.endswith("version-hint.text")]
