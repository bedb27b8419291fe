"""Audit of changed tables: repaired where no row changes, else reported; referenced files are kept."""

from dataclasses import replace

import msgspec
import pytest

from dray.compaction.topic_tables import table_of
from dray.maintenance.status import status_of
from dray.objects.memory import MemoryObjects
from dray.sweep.files import FileSweep
from dray.testing.memory_tables import ScriptedFaults
from tests.compaction.another_engine import rewrite_data_files
from tests.compaction.passes import CompactorRig, compactor_rig, maintenance_of
from tests.compaction.rounds import EAGER
from tests.log.builders import DOMAIN, Rig, simulated
from tests.log.compacting import records

_PATIENT = msgspec.structs.replace(EAGER, snapshot_age_ms_max=1 << 40)
_APART = msgspec.structs.replace(_PATIENT, merge_files_min=1_000)
_HOUR_S = 3_601


def _roll_back(made: CompactorRig, snapshot_id: int) -> None:
    made.catalog._tables["one"].current = snapshot_id


def _snapshot(made: CompactorRig) -> int:
    found = made.catalog.current(made.table("one")).snapshot_id
    assert found is not None
    return found


def _paths(made: CompactorRig) -> set[str]:
    return {file.path for file in made.catalog.current(made.table("one")).files}


async def _sweep(rig: Rig) -> int:
    objects = MemoryObjects(rig.bucket)
    return await FileSweep(rig.meta, objects, DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=1 << 40).run()


async def _merged(rig: Rig) -> tuple[CompactorRig, int, int]:
    """Return a topic whose three files were merged, and the snapshots of the first file and of all three."""
    made = await compactor_rig(rig, "one")
    await made.run_pass("before", settings=_APART)
    first = _snapshot(made)
    for _ in range(2):
        await made.write("one")
        await made.run_pass("before", settings=_APART)
    all_three = _snapshot(made)
    assert made.ranges("one") == [(0, 1), (2, 3), (4, 5)]
    await made.run_pass(settings=_PATIENT)
    assert made.ranges("one") == [(0, 5)]
    return made, first, all_three


@simulated
async def test_files_referenced_again_after_a_rollback_are_kept_until_replaced(rig: Rig) -> None:
    made, _, all_three = await _merged(rig)
    before = await records(made.opened, made.stream("one"))
    await rig.settle(121)
    _roll_back(made, all_three)
    stale = _paths(made)
    assert await _sweep(rig) == 0
    await made.run_pass()
    assert stale <= set(rig.paths())
    assert await _sweep(rig) == 0
    await rig.settle(1)
    await made.run_pass()
    assert made.ranges("one") == [(0, 5)]
    assert _paths(made) == {file.path for file in await made.files("one")}
    assert made.counted("differing_records", topic="one") == 0
    await rig.settle(31)
    await made.run_pass()
    assert await _sweep(rig) == 3
    assert await records(await rig.open("fresh"), made.stream("one")) == before


def test_missing_rows_are_reported_until_they_are_restored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @simulated
    async def body(rig: Rig) -> None:
        made = await compactor_rig(rig, "one")
        await made.run_pass(settings=_APART)
        first = _snapshot(made)
        await made.write("one")
        await made.run_pass(settings=_APART)
        lost = made.catalog.current(made.table("one")).files[1]
        _roll_back(made, first)
        await made.write("one")
        await made.run_pass(settings=_APART)
        caplog.clear()
        await rig.settle(_HOUR_S)
        await made.run_pass()
        assert made.ranges("one") == [(0, 1), (4, 5)]
        assert "table_audit_mismatch" in caplog.text
        assert "2 to 3" in caplog.text
        assert made.counted("differing_records", topic="one") == 2
        (status,) = (await status_of(rig.meta, 1, made.found("one"))).partitions
        (one,) = status.differences
        assert (one.first_offset, one.last_offset, one.records) == (2, 3, 2)
        made.catalog.external_commit(made.table("one"), [], [lost])
        await rig.settle(_HOUR_S)
        await made.run_pass()
        assert made.counted("differing_records", topic="one") == 0
        (status,) = (await status_of(rig.meta, 1, made.found("one"))).partitions
        assert status.differences == ()

    body()


@simulated
async def test_rollback_to_some_of_the_merged_files_restores_no_row(rig: Rig) -> None:
    made, first, _ = await _merged(rig)
    _roll_back(made, first)
    await rig.settle(_HOUR_S)
    await made.run_pass()
    assert made.ranges("one") == [(0, 1)]
    assert made.counted("differing_records", topic="one") == 4
    await rig.settle(_HOUR_S)
    await made.run_pass()
    await _sweep(rig)
    assert _paths(made) <= set(rig.paths())


@simulated
async def test_file_rewritten_by_another_engine_is_not_a_difference(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass()
    await rewrite_data_files(made, "one", lambda rows: rows.slice(1))
    await rig.settle(_HOUR_S)
    theirs = _paths(made)
    await made.run_pass()
    assert _paths(made) == theirs
    assert made.counted("differing_records", topic="one") == 0


@simulated
async def test_file_rewritten_by_another_engine_is_removed_when_it_expires(rig: Rig) -> None:
    made = await compactor_rig(rig, "one", "two")
    for topic in ("one", "two"):
        await made.run_pass(settings=_APART)
        await made.write(topic)
    await made.run_pass(settings=_APART)
    for topic in ("one", "two"):
        await rewrite_data_files(made, topic, count=1)
        await made.opened.log.trim(made.stream(topic), 2)
    await made.run_pass(settings=_APART)
    assert made.ranges("one") == made.ranges("two") == [(2, 3)]


@simulated
async def test_audit_removes_a_file_of_another_engine_whose_offsets_expired_before(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass()
    (before,) = made.catalog.current(made.table("one")).files
    await made.opened.log.trim(made.stream("one"), 2)
    await made.run_pass()
    theirs = replace(before, path="iceberg/topic=one/data/partition=0/00000-1.parquet")
    made.catalog.external_commit(made.table("one"), [], [theirs])
    await rig.settle(_HOUR_S)
    await made.run_pass()
    assert made.ranges("one") == []


@simulated
async def test_partly_expired_file_of_another_engine_is_reported(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass()
    await rewrite_data_files(made, "one")
    await made.opened.log.trim(made.stream("one"), 1)
    await rig.settle(_HOUR_S)
    await made.run_pass()
    assert made.ranges("one") == [(0, 1)]
    (status,) = (await status_of(rig.meta, 1, made.found("one"))).partitions
    (one,) = status.differences
    assert (one.first_offset, one.last_offset, one.records) == (0, 0, 1)
    assert "delete them in the table" in one.reason


@simulated
async def test_file_rewritten_by_another_engine_is_reported_as_not_compacted_by_key(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass()
    await made.topic_admin.configure("one", lambda _: {"cleanup.policy": "compact"})
    await rewrite_data_files(made, "one")
    await rig.settle(_HOUR_S)
    await made.run_pass()
    (status,) = (await status_of(rig.meta, 1, made.found("one"))).partitions
    (one,) = status.differences
    assert (one.first_offset, one.last_offset, one.records) == (0, 1, 0)
    assert one.reason == "it is not compacted by key: another engine has rewritten it"


@simulated
async def test_rows_deleted_from_merged_files_are_not_restored(rig: Rig) -> None:
    made, _, all_three = await _merged(rig)
    _roll_back(made, all_three)
    made.catalog.external_delete_rows(made.table("one"), min(_paths(made)))
    stale = _paths(made)
    await rig.settle(_HOUR_S)
    await made.run_pass()
    assert _paths(made) == stale


@simulated
async def test_unavailable_table_postpones_deletions(rig: Rig) -> None:
    made, _, _ = await _merged(rig)
    await rig.settle(_HOUR_S)
    away = ScriptedFaults("current", ["refuse"] * 9)
    await made.run_pass("away", away, _APART)
    assert await _sweep(rig) == 0
    await rig.settle(31)
    await made.run_pass()
    assert await _sweep(rig) == 3


@simulated
async def test_table_is_checked_once_for_all_its_files(rig: Rig) -> None:
    made, _, _ = await _merged(rig)
    await rig.settle(60)
    checked: list[object] = []
    real = made.catalog.current

    def counted(table: object) -> object:
        checked.append(table)
        return real(table)  # type: ignore[arg-type]

    made.catalog.current = counted  # type: ignore[method-assign,assignment]
    for _ in range(3):
        await made.run_pass()
    assert checked == [table_of(made.found("one").ref)]


@simulated
async def test_files_of_a_renamed_table_are_kept(rig: Rig) -> None:
    made, _, _ = await _merged(rig)
    await rig.settle(121)
    made.catalog.external_rename(made.table("one"), "theirs")
    for damage in (None, "it was cut off"):
        made.catalog.external_damage_renamed("theirs", damage)  # it may belong to any topic then
        compactor, _ = made.compactor(f"while {damage}")
        await maintenance_of(compactor)._reference_check.run()
        assert await _sweep(rig) == 0
