"""Agreement of stream and table on real catalogs, whatever is deleted, dropped, rewritten or orphaned."""

import shutil
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from pyiceberg.table import Table

from dray.compaction.metrics import CompactionMetrics
from dray.compaction.settings import CompactionSettings
from dray.ids import MetaDomain
from dray.log import LogDamaged, Trimmer
from dray.maintenance.snapshot_expiry import SnapshotExpiry
from dray.observe import Metrics
from dray.runtime import SystemClock
from dray.sweep.files import FileSweep
from dray.sweep.plan import RetentionPolicy
from dray.sweep.retention import Retention
from dray.tables.names import metadata_folder, table_folder
from tests.log.builders import DOMAIN
from tests.tables.compacted import EAGER, NO_GRACE, NOW_MS, Compacted, compacted
from tests.tables.duck import reading_iceberg
from tests.tables.iceberg_harness import IcebergHarness

pytestmark = pytest.mark.slow
_DAY_MS = 86_400_000


@pytest.fixture(params=["sql", pytest.param("rest", marks=pytest.mark.real("java"))])
def harness(request: pytest.FixtureRequest) -> IcebergHarness:
    found: IcebergHarness = request.getfixturevalue(request.param)
    return found


async def _filled(made: Compacted, *counts: int) -> None:
    """Make a file for each count of records."""
    for count in counts:
        await made.produce(count)
        assert (await made.run_pass()).failure == ""
    assert len(await made.files()) == len(counts)


async def _rewritten(made: Compacted) -> Table:
    """Make a file of ten records, and have another engine rewrite it."""
    await _filled(made, 10)
    table = made.harness.theirs(made.table)
    table.overwrite(table.scan().to_arrow())
    return table


async def _swept(made: Compacted) -> None:
    sweep = FileSweep(made.meta, made.objects, DOMAIN, domains=1, clock=SystemClock(), orphan_ttl_ms=1)
    await sweep.run()
    await sweep.run_strays()


async def _swept_tables(
    made: Compacted, *, snapshot_age_ms_max: int, table_orphan_ttl_ms: int = _DAY_MS // 2
) -> None:
    """Run maintenance of the table a day later."""
    settings = CompactionSettings(
        snapshot_age_ms_max=snapshot_age_ms_max, table_orphan_ttl_ms=table_orphan_ttl_ms
    )
    later = _Later(SystemClock().now_ms() + _DAY_MS)
    tables = await made.harness.open()
    expiry = SnapshotExpiry(tables, made.objects, later, settings, CompactionMetrics.on(Metrics()))
    expiry.set_listing(await tables.listing())
    await expiry.expire(made.table)
    await expiry.sweep(made.table)


def _others_files(harness: IcebergHarness) -> list[Path]:
    return [path for path in harness.root.rglob("*.parquet") if "iceberg" in path.parts]


def _by_duckdb(made: Compacted) -> list[tuple[int, bytes | None]]:
    with reading_iceberg() as duck:
        query = 'SELECT "offset", value FROM iceberg_scan(?) ORDER BY 1'
        rows = duck.execute(query, [str(made.newest_metadata())]).fetchall()
    return [(offset, value) for offset, value in rows]


async def test_records_deleted_inside_a_file_leave_stream_and_table(
    harness: IcebergHarness, tmp_path: Path
) -> None:
    async with compacted(harness, tmp_path) as made:
        await _filled(made, 10, 10, 10)
        everything = await made.streamed(0)
        assert len(everything) == 30
        await made.log.trim(made.stream, 14)
        result = await made.run_pass()
        assert (result.failure, result.detached, result.report.files) == ("", 1, 1)
        expected = everything[14:]
        assert made.table_records() == expected
        assert _by_duckdb(made) == expected
        assert await made.streamed(14) == expected
        assert [(file.start_offset, file.end_offset) for file in await made.files()] == [(14, 20), (20, 30)]
        await _swept(made)
        left = {path.name for path in harness.root.rglob("*.parquet")}
        assert left == {Path(file.path).name for file in await made.files()}
        assert made.table_records() == expected


async def test_rewritten_rows_expire_with_the_log(harness: IcebergHarness, tmp_path: Path) -> None:
    async with compacted(harness, tmp_path) as made:
        await _rewritten(made)
        await made.produce(10)
        assert (await made.run_pass()).failure == ""
        everything = await made.streamed(0)
        assert made.table_records() == everything
        (rewritten,) = _others_files(harness)
        await made.log.trim(made.stream, 10)
        assert (await made.run_pass()).detached == 1
        assert made.table_records() == everything[10:]
        assert _others_files(harness) == [rewritten]
        await _swept_tables(made, snapshot_age_ms_max=0)
        assert _others_files(harness) == []
        assert made.table_records() == everything[10:]


async def test_unreferenced_external_files_are_swept(harness: IcebergHarness, tmp_path: Path) -> None:
    async with compacted(harness, tmp_path) as made:
        table = await _rewritten(made)
        (first,) = _others_files(harness)
        table.overwrite(table.scan().to_arrow())
        young = first.with_name("00000-0-being-written.parquet")
        await _swept_tables(made, snapshot_age_ms_max=10 * _DAY_MS)
        assert first in _others_files(harness)  # an older snapshot names it
        await _swept_tables(made, snapshot_age_ms_max=0)
        (second,) = _others_files(harness)
        assert second != first
        shutil.copy(second, young)
        await _swept_tables(made, snapshot_age_ms_max=0, table_orphan_ttl_ms=2 * _DAY_MS)
        assert sorted(_others_files(harness)) == sorted([second, young])
        assert made.table_records() == await made.streamed(0)


@pytest.mark.parametrize("name", ["dray.Backup", "archive.t"])
async def test_renamed_table_keeps_external_files(harness: IcebergHarness, tmp_path: Path, name: str) -> None:
    async with compacted(harness, tmp_path) as made:
        table = await _rewritten(made)
        harness.external.create_namespace_if_not_exists(name.split(".", maxsplit=1)[0])
        harness.external.rename_table(table.name(), tuple(name.split(".")))
        await made.produce(10)
        assert (await made.run_pass()).failure == ""
        assert made.table_records() == await made.streamed(0)
        await _swept_tables(made, snapshot_age_ms_max=0)
        renamed = harness.external.load_table(tuple(name.split(".")))
        assert sorted(renamed.scan().to_arrow()["offset"].to_pylist()) == list(range(10))


@pytest.mark.parametrize(("by", "first"), [("time", 30), ("size", 10)])
async def test_retention_removes_whole_files_from_log_and_table(
    harness: IcebergHarness, tmp_path: Path, by: str, first: int
) -> None:
    async with compacted(harness, tmp_path) as made:
        await _filled(made, 10, 10, 10)
        everything = await made.streamed(0)
        two_files = sum(file.ingested_bytes for file in (await made.files())[1:])
        policy = RetentionPolicy(1_000) if by == "time" else RetentionPolicy(retention_bytes=two_files)
        trimmer = Trimmer(made.meta, DOMAIN, made.clock, NO_GRACE)
        later = _Later(NOW_MS + 1_010)
        await Retention(made.meta, MetaDomain(0), trimmer, later, lambda _: policy).run()
        result = await made.run_pass()
        assert (result.failure, result.detached) == ("", first // 10)
        assert made.table_records() == everything[first:]
        assert _by_duckdb(made) == everything[first:]
        await _swept(made)
        assert len(list(harness.root.rglob("*.parquet"))) == (30 - first) // 10
        assert made.table_records() == everything[first:]


class _Later(SystemClock):
    def __init__(self, now_ms: int) -> None:
        super().__init__()
        self._fixed_ms = now_ms

    def now_ms(self) -> int:
        return self._fixed_ms


async def test_dropped_table_is_rebuilt(harness: IcebergHarness, tmp_path: Path) -> None:
    async with compacted(harness, tmp_path) as made:
        await _filled(made, 5, 5)
        harness.drop(made.table)
        await made.produce(5)
        result = await made.run_pass()
        assert (result.failure, result.rebuilt, result.report.files) == ("", 2, 1)
        assert made.table_records() == await made.streamed(0)
        assert len(made.table_records()) == 15
        assert (await made.run_pass()).rebuilt == 0


async def test_files_that_another_engine_rewrote_and_deleted_are_served_again(
    harness: IcebergHarness, tmp_path: Path
) -> None:
    async with compacted(harness, tmp_path) as made:
        await _filled(made, 10, 10)
        everything = await made.streamed(0)
        _rewrite_as_others_do(made)
        for file in await made.files():
            (harness.root / file.path).unlink()
        fresh = await made.another_log()
        with pytest.raises(LogDamaged, match="no such object"):
            await fresh.read(made.stream, 0, 1 << 20)
        result = await made.run_pass()
        assert (result.failure, result.repaired) == ("", 2)
        assert await made.streamed(0) == everything
        assert (await fresh.read(made.stream, 0, 1 << 20)).next_offset == 20
        assert made.table_records() == everything
        await made.produce(5)
        assert (await made.run_pass()).failure == ""
        assert made.table_records() == await made.streamed(0)
        await fresh.close()


def _rewrite_as_others_do(made: Compacted) -> None:
    """One file of theirs for all of ours, in one snapshot, written by PyIceberg's own writer."""
    table = made.harness.theirs(made.table)
    rows: pa.Table = table.scan().to_arrow().sort_by([("offset", "descending")])
    table.overwrite(rows)


async def test_merge_does_not_restore_deleted_rows(harness: IcebergHarness, tmp_path: Path) -> None:
    async with compacted(harness, tmp_path) as made:
        await _filled(made, 10, 10, 10)
        made.harness.theirs(made.table).delete("offset == 3")
        assert len(made.table_records()) == 29
        merging = msgspec.structs.replace(EAGER, merge_files_min=2)
        result = await made.run_pass(merging)
        assert (result.failure, result.report.failures, result.report.files) == ("", [], 1)
        offsets = [offset for offset, _ in made.table_records()]
        assert offsets == [offset for offset in range(30) if offset != 3]
        assert len(await made.streamed(0)) == 30
        assert (await made.run_pass(merging)).report.files == 0


async def test_foreign_table_is_reported_and_never_touched(harness: IcebergHarness, tmp_path: Path) -> None:
    async with compacted(harness, tmp_path) as made:
        others = IcebergHarness(replace(harness.settings, cluster_id="cluster-2"))
        await (await others.open()).create_if_missing(made.table, table_folder(made.table.topic))
        await made.produce(5)
        result = await made.run_pass()
        assert "belongs to another topic or cluster" in result.failure
        assert others.theirs(made.table).current_snapshot() is None
        assert len(await made.streamed(0)) == 5
        others.drop(made.table)
        assert (await made.run_pass()).failure == ""
        assert made.table_records() == await made.streamed(0)
        await others.close()


async def test_metadata_of_a_crashed_commit_is_deleted(harness: IcebergHarness, tmp_path: Path) -> None:
    async with compacted(harness, tmp_path) as made:
        settings = msgspec.structs.replace(EAGER, snapshot_expiry_commits=1)
        for _ in range(12):
            await made.produce(2)
            assert (await made.run_pass(settings)).failure == ""
        table = harness.theirs(made.table)
        assert len(table.snapshots()) <= 2
        folder = harness.root / metadata_folder(table_folder("t"))
        tables = await harness.open()
        reached = {harness.root / path for path in await tables.reachable(made.table)}
        on_disk = {path for path in folder.iterdir() if path.suffix == ".avro"}
        assert on_disk == {path for path in reached if path.suffix == ".avro"}
        assert len(made.table_records()) == 24
