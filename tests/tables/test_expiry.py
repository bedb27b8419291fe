"""Constant cost of commits: few manifests, a short history, and no metadata file left behind."""

import pytest
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from dray.runtime import SystemClock
from dray.tables.iceberg import expiry
from dray.tables.names import table_folder
from dray.tables.port import Job
from dray.testing.contracts.tables import ORDERS, live
from tests.tables.iceberg_harness import IcebergHarness

COMMITS = 60


def _later_ms() -> int:
    """When all is old that there is now."""
    return SystemClock().now_ms() + 1_000


@pytest.mark.slow
async def test_metadata_stays_small_and_nothing_is_left_behind(sql: IcebergHarness) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    metadata = sql.root / f"iceberg/topic={ORDERS.topic}/metadata"
    files = []
    for number in range(COMMITS):
        files.append(sql.file(0, number * 5, 5))
        await tables.append(ORDERS, [files[-1]], Job(f"job-{number}", {0: number * 5 + 5}))
        if number % 20 == 19:
            expired = await tables.expire(ORDERS, _later_ms())
            assert expired.snapshots == (19 if number == 19 else 20)
            for path in expired.metadata_files:
                (sql.root / path).unlink()
    state = await tables.current(ORDERS)
    assert state.files == tuple(map(live, files))
    snapshot = sql.theirs(ORDERS).current_snapshot()
    assert snapshot is not None
    assert len(snapshot.manifests(sql.theirs(ORDERS).io)) <= 20
    versions = sorted(metadata.glob("*.metadata.json"))
    assert len(versions) <= 21
    assert versions[-1].stat().st_size < 12_000
    stored = {str(path.relative_to(sql.root)) for path in metadata.iterdir()}
    assert stored == {path for path in await tables.reachable(ORDERS) if path.startswith("iceberg/")}


async def test_tagged_snapshot_is_kept(sql: IcebergHarness) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    old = sql.file(0, 0, 5)
    done = await tables.append(ORDERS, [old], Job("a"))
    assert done.snapshot_id is not None
    sql.theirs(ORDERS).manage_snapshots().create_tag(done.snapshot_id, "audit").commit()
    await tables.replace(ORDERS, [old.path], [sql.file(0, 0, 5)], Job("b"))
    expired = await tables.expire(ORDERS, _later_ms())
    assert expired.snapshots == 0
    assert old.path in await tables.reachable(ORDERS)


async def test_snapshot_that_is_named_while_it_expires_is_kept(
    sql: IcebergHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    done = [await tables.append(ORDERS, [sql.file(0, at, 5)], Job(f"job-{at}")) for at in (0, 5)]
    real = expiry._unreachable

    def meanwhile(table: Table, old: list[Snapshot]) -> set[str]:
        found = real(table, old)
        assert done[0].snapshot_id is not None
        sql.theirs(ORDERS).manage_snapshots().create_tag(done[0].snapshot_id, "audit").commit()
        return found

    monkeypatch.setattr(expiry, "_unreachable", meanwhile)
    assert (await tables.expire(ORDERS, _later_ms())).snapshots == 0
    assert "audit" in sql.theirs(ORDERS).metadata.refs
    assert len(sql.theirs(ORDERS).snapshots()) == 2


async def test_snapshots_that_others_asked_to_keep_are_kept(sql: IcebergHarness) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    for number in range(3):
        await tables.append(ORDERS, [sql.file(0, number * 5, 5)], Job(f"job-{number}"))
    rows = sql.theirs(ORDERS).scan().to_arrow()
    main = [snapshot.snapshot_id for snapshot in sql.theirs(ORDERS).snapshots()]
    sql.theirs(ORDERS).manage_snapshots().create_branch(
        main[-1], "audit", max_snapshot_age_ms=3_600_000
    ).create_branch(main[-1], "staged").commit()
    for branch in ("audit", "audit", "staged"):
        sql.theirs(ORDERS).append(rows, branch=branch)
    sql.theirs(ORDERS).manage_snapshots().remove_branch("staged").commit()
    assert (await tables.expire(ORDERS, _later_ms())).snapshots == 0  # the branch continues after its start
    sql.theirs(ORDERS).manage_snapshots().remove_branch("audit").commit()
    assert (await tables.expire(ORDERS, _later_ms())).snapshots == 2
    assert len(sql.theirs(ORDERS).snapshots()) == 4  # what was never published may be yet
    with sql.theirs(ORDERS).transaction() as change:
        change.set_properties({"history.expire.max-snapshot-age-ms": "1"})
    assert (await tables.expire(ORDERS, _later_ms())).snapshots == 3


@pytest.mark.parametrize(
    ("name", "value", "left"),
    [
        ("history.expire.min-snapshots-to-keep", "3", 3),
        ("history.expire.min-snapshots-to-keep", "0", 1),
        ("history.expire.max-snapshot-age-ms", "3600000", 4),
        ("history.expire.max-snapshot-age-ms", "an hour", 1),
    ],
)
async def test_table_s_own_retention_counts(sql: IcebergHarness, name: str, value: str, left: int) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    for number in range(4):
        await tables.append(ORDERS, [sql.file(0, number * 5, 5)], Job(f"job-{number}"))
    with sql.theirs(ORDERS).transaction() as change:
        change.set_properties({name: value})
    await tables.expire(ORDERS, _later_ms())
    assert len(sql.theirs(ORDERS).snapshots()) == left
    assert len((await tables.current(ORDERS)).files) == 4


async def test_job_whose_rows_were_rolled_back_is_not_done(sql: IcebergHarness) -> None:
    """By its snapshot it is not; a job that has set marks counts as done, and `current` shows the truth."""
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    first, second, third = (sql.file(0, start, 5) for start in (0, 5, 10))
    done = await tables.append(ORDERS, [first], Job("a"))
    await tables.append(ORDERS, [second], Job("b"))
    await tables.append(ORDERS, [third], Job("c", {0: 15}))
    assert done.snapshot_id is not None
    sql.theirs(ORDERS).manage_snapshots().rollback_to_snapshot(done.snapshot_id).commit()
    assert (await tables.current(ORDERS)).files == (live(first),)
    assert await tables.find_job(ORDERS, Job("b")) is None
    assert (await tables.append(ORDERS, [third], Job("c", {0: 15}))).repeated


async def test_snapshot_age_counts_from_its_replacement(sql: IcebergHarness) -> None:
    """It may have been made long ago and been read a moment ago."""
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    for name in ("a", "b"):
        await tables.append(ORDERS, [sql.file(0, 0, 5)], Job(name))
    made_ms = [snapshot.timestamp_ms for snapshot in sql.theirs(ORDERS).snapshots()]
    assert made_ms[0] < made_ms[1]
    assert (await tables.expire(ORDERS, made_ms[1])).snapshots == 0
    assert (await tables.expire(ORDERS, made_ms[1] + 1)).snapshots == 1


async def test_commit_looks_at_the_metadata_once_for_each_change(
    sql: IcebergHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    looked = 0
    real = vars(Transaction)["table_metadata"].fget

    def counted(transaction: Transaction) -> TableMetadata:
        nonlocal looked
        looked += 1
        found: TableMetadata = real(transaction)
        return found

    monkeypatch.setattr(Transaction, "table_metadata", property(counted))
    await tables.append(ORDERS, [sql.file(0, 0, 5)], Job("a", {0: 5}))
    assert 1 <= looked <= 4
