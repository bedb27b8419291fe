"""Tables and index: what another engine or a loss has changed is found, what is pending is only noted."""

from dray.check.deps import CheckDeps
from dray.check.findings import Finding, Severity
from dray.check.run import ClusterCheck
from dray.keyspace import CLUSTER_DOMAIN, rebuild_key
from dray.log import LogSettings
from dray.meta.port import Put
from dray.objects.memory import MemoryObjects
from dray.testing.memory_tables import MemoryTables
from tests.compaction.another_engine import lose, rewrite_data_files
from tests.compaction.passes import CompactorRig, compactor_rig
from tests.compaction.rounds import UNMERGED
from tests.log.builders import Rig, simulated_in_order


async def _made(rig: Rig) -> CompactorRig:
    """Return a topic with two Parquet files and a WAL entry."""
    made = await compactor_rig(rig, "t")
    await made.run_pass(settings=UNMERGED)
    await made.write("t")
    await made.run_pass(settings=UNMERGED)
    await made.write("t", 1)
    assert await _check(made) == []
    return made


async def _check(made: CompactorRig) -> list[Finding]:
    objects = MemoryObjects(made.rig.bucket)
    deps = CheckDeps(made.rig.meta, objects, 1, made.rig.clock, LogSettings(), pause_s=1.0)
    check = ClusterCheck(deps, MemoryTables(made.catalog))
    return [one async for one in check.run([made.found("t")])]


async def _the_finding(made: CompactorRig) -> tuple[str, Severity, tuple[int, int] | None, str]:
    [found] = await _check(made)
    return type(found).__name__, found.severity, found.offsets, found.what


@simulated_in_order
async def test_rows_that_the_table_lacks_are_found(rig: Rig) -> None:
    made = await _made(rig)
    table = made.table("t")
    made.catalog.external_commit(table, [made.catalog.current(table).files[1].path], [])
    kind, severity, offsets, what = await _the_finding(made)
    assert (kind, severity, offsets) == ("TableDiffers", Severity.WRONG, (2, 3))
    assert what.startswith("2 records differ in the table: it is not in the table")


@simulated_in_order
async def test_file_that_another_engine_deleted_is_found_until_a_compactor_restores_it(rig: Rig) -> None:
    made = await _made(rig)
    await rewrite_data_files(made, "t", count=2)
    assert [type(one).__name__ for one in await _check(made)] == ["MissingObject", "MissingObject"]
    await rig.settle(3_601)
    await made.run_pass(settings=UNMERGED)
    assert await _check(made) == []


@simulated_in_order
async def test_file_of_another_engine_that_the_store_lacks_is_found(rig: Rig) -> None:
    made = await _made(rig)
    await rewrite_data_files(made, "t", count=2)
    await rig.settle(3_601)
    await made.run_pass(settings=UNMERGED)
    live = made.catalog.current(made.table("t")).files[0]
    await lose(made, [live.path])
    kind, severity, offsets, what = await _the_finding(made)
    assert (kind, severity) == ("TableDiffers", Severity.WRONG)
    assert offsets == (live.first_offset, live.last_offset)
    assert what.endswith(f"the table references {live.path}, which is not in the store")


@simulated_in_order
async def test_table_that_will_be_rebuilt_is_noted(rig: Rig) -> None:
    made = await _made(rig)
    made.catalog.external_drop(made.table("t"))
    kind, severity, _, what = await _the_finding(made)
    assert (kind, severity) == ("TablePending", Severity.NOTE)
    assert what == "table: it has Parquet files, but no table: the next pass of a compactor creates the table"
    await made.run_pass(settings=UNMERGED)
    assert await _check(made) == []


@simulated_in_order
async def test_table_that_is_being_rebuilt_is_left_alone(rig: Rig) -> None:
    made = await _made(rig)
    made.catalog.external_drop(made.table("t"))
    key = rebuild_key(made.found("t").topic_id)
    await rig.meta.commit(CLUSTER_DOMAIN, [], [Put(key, b"")])
    assert await _check(made) == []


@simulated_in_order
async def test_unreadable_table_is_found(rig: Rig) -> None:
    made = await _made(rig)
    made.catalog.external_damage(made.table("t"), "metadata.json is missing")
    kind, severity, _, what = await _the_finding(made)
    assert (kind, severity) == ("TableUnreadable", Severity.WRONG)
    assert "metadata.json is missing" in what
