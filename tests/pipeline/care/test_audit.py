"""A table that somebody rolls back is put right where that changes no row, else told; no file of it goes."""

from dataclasses import replace

import msgspec
import pytest

from dray.objects.memory import MemoryObjects
from dray.pipeline.status import status_of
from dray.pipeline.topic_tables import table_of
from dray.sweep.files import FileSweep
from dray.tables.memory import ScriptedFaults
from tests.log.builders import DOMAIN, Rig, simulated
from tests.log.compacting import records
from tests.pipeline.another_engine import rewrite_data_files
from tests.pipeline.rounds import EAGER
from tests.pipeline.turns import Turns, turns_over

_PATIENT = msgspec.structs.replace(EAGER, snapshot_age_ms_max=1 << 40)
_APART = msgspec.structs.replace(_PATIENT, merge_files_min=1_000)
_HOUR_S = 3_601


def _roll_back(made: Turns, snapshot_id: int) -> None:
    made.catalog._tables["one"].current = snapshot_id


def _snapshot(made: Turns) -> int:
    found = made.catalog.current(made.table("one")).snapshot_id
    assert found is not None
    return found


def _paths(made: Turns) -> set[str]:
    return {file.path for file in made.catalog.current(made.table("one")).files}


async def _sweep(rig: Rig) -> int:
    objects = MemoryObjects(rig.bucket)
    return await FileSweep(rig.meta, objects, DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=1 << 40).run()


async def _merged(rig: Rig) -> tuple[Turns, int, int]:
    """A topic whose three files became one; also the snapshots of the first file and of all three."""
    made = await turns_over(rig, "one")
    await made.turn("before", settings=_APART)
    first = _snapshot(made)
    for _ in range(2):
        await made.write("one")
        await made.turn("before", settings=_APART)
    all_three = _snapshot(made)
    assert made.ranges("one") == [(0, 1), (2, 3), (4, 5)]
    await made.turn(settings=_PATIENT)
    assert made.ranges("one") == [(0, 5)]
    return made, first, all_three


@simulated
async def test_files_that_a_rollback_names_again_are_kept_and_then_replaced(rig: Rig) -> None:
    made, _, all_three = await _merged(rig)
    before = await records(made.opened, made.stream("one"))
    await rig.settle(121)
    _roll_back(made, all_three)
    stale = _paths(made)
    assert await _sweep(rig) == 0
    await made.turn()
    assert stale <= set(rig.paths())
    assert await _sweep(rig) == 0
    await rig.settle(1)
    await made.turn()
    assert made.ranges("one") == [(0, 5)]
    assert _paths(made) == {file.path for file in await made.files("one")}
    assert made.counted("differing_records", topic="one") == 0
    await rig.settle(31)
    await made.turn()
    assert await _sweep(rig) == 3
    assert await records(await rig.open("fresh"), made.stream("one")) == before


def test_rows_that_are_gone_are_told_and_counted_until_they_are_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @simulated
    async def body(rig: Rig) -> None:
        made = await turns_over(rig, "one")
        await made.turn(settings=_APART)
        first = _snapshot(made)
        await made.write("one")
        await made.turn(settings=_APART)
        lost = made.catalog.current(made.table("one")).files[1]
        _roll_back(made, first)
        await made.write("one")
        await made.turn(settings=_APART)
        caplog.clear()
        await rig.settle(_HOUR_S)
        await made.turn()
        assert made.ranges("one") == [(0, 1), (4, 5)]
        assert "table_differs" in caplog.text
        assert "2 to 3" in caplog.text
        assert made.counted("differing_records", topic="one") == 2
        (status,) = (await status_of(rig.meta, 1, made.found("one"))).partitions
        (one,) = status.differences
        assert (one.first_offset, one.last_offset, one.records) == (2, 3, 2)
        made.catalog.somebody_commits(made.table("one"), [], [lost])
        await rig.settle(_HOUR_S)
        await made.turn()
        assert made.counted("differing_records", topic="one") == 0
        (status,) = (await status_of(rig.meta, 1, made.found("one"))).partitions
        assert status.differences == ()

    body()


@simulated
async def test_a_rollback_to_some_of_the_merged_files_brings_no_row_back(rig: Rig) -> None:
    made, first, _ = await _merged(rig)
    _roll_back(made, first)
    await rig.settle(_HOUR_S)
    await made.turn()
    assert made.ranges("one") == [(0, 1)]
    assert made.counted("differing_records", topic="one") == 4
    await rig.settle(_HOUR_S)
    await made.turn()
    await _sweep(rig)
    assert _paths(made) <= set(rig.paths())


@simulated
async def test_what_others_rewrote_is_no_difference(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn()
    await rewrite_data_files(made, "one", lambda rows: rows.slice(1))
    await rig.settle(_HOUR_S)
    theirs = _paths(made)
    await made.turn()
    assert _paths(made) == theirs
    assert made.counted("differing_records", topic="one") == 0


@simulated
async def test_what_others_rewrote_goes_when_the_log_gives_it_up(rig: Rig) -> None:
    made = await turns_over(rig, "one", "two")
    for topic in ("one", "two"):
        await made.turn(settings=_APART)
        await made.write(topic)
    await made.turn(settings=_APART)
    for topic in ("one", "two"):
        await rewrite_data_files(made, topic, count=1)
        await made.opened.log.trim(made.stream(topic), 2)
    await made.turn(settings=_APART)
    assert made.ranges("one") == made.ranges("two") == [(2, 3)]


@simulated
async def test_what_others_rewrote_and_the_log_gave_up_before_is_found_too(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn()
    (before,) = made.catalog.current(made.table("one")).files
    await made.opened.log.trim(made.stream("one"), 2)
    await made.turn()
    theirs = replace(before, path="iceberg/topic=one/data/partition=0/00000-1.parquet")
    made.catalog.somebody_commits(made.table("one"), [], [theirs])
    await rig.settle(_HOUR_S)
    await made.turn()
    assert made.ranges("one") == []


@simulated
async def test_what_others_rewrote_and_the_log_has_only_in_part_is_told(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn()
    await rewrite_data_files(made, "one")
    await made.opened.log.trim(made.stream("one"), 1)
    await rig.settle(_HOUR_S)
    await made.turn()
    assert made.ranges("one") == [(0, 1)]
    (status,) = (await status_of(rig.meta, 1, made.found("one"))).partitions
    (one,) = status.differences
    assert (one.first_offset, one.last_offset, one.records) == (0, 0, 1)
    assert "delete them in the table" in one.why


@simulated
async def test_it_is_told_that_what_others_rewrote_is_not_cleaned(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn()
    await made.topics.configure("one", lambda _: {"cleanup.policy": "compact"})
    await rewrite_data_files(made, "one")
    await rig.settle(_HOUR_S)
    await made.turn()
    (status,) = (await status_of(rig.meta, 1, made.found("one"))).partitions
    (one,) = status.differences
    assert (one.first_offset, one.last_offset, one.records) == (0, 1, 0)
    assert one.why == "it is not cleaned by key: another engine has rewritten it"


@simulated
async def test_rows_deleted_from_files_that_were_merged_do_not_come_back(rig: Rig) -> None:
    made, _, all_three = await _merged(rig)
    _roll_back(made, all_three)
    made.catalog.somebody_deletes_rows(made.table("one"), min(_paths(made)))
    stale = _paths(made)
    await rig.settle(_HOUR_S)
    await made.turn()
    assert _paths(made) == stale


@simulated
async def test_a_table_that_does_not_answer_lets_no_file_go(rig: Rig) -> None:
    made, _, _ = await _merged(rig)
    await rig.settle(_HOUR_S)
    away = ScriptedFaults("current", ["refuse"] * 9)
    await made.turn("away", away, _APART)
    assert await _sweep(rig) == 0
    await rig.settle(31)
    await made.turn()
    assert await _sweep(rig) == 3


@simulated
async def test_a_table_is_asked_once_for_all_its_files(rig: Rig) -> None:
    made, _, _ = await _merged(rig)
    await rig.settle(60)
    asked: list[object] = []
    real = made.catalog.current

    def counted(table: object) -> object:
        asked.append(table)
        return real(table)  # type: ignore[arg-type]

    made.catalog.current = counted  # type: ignore[method-assign,assignment]
    for _ in range(3):
        await made.turn()
    assert asked == [table_of(made.found("one").ref)]


@simulated
async def test_a_table_that_was_renamed_keeps_its_files(rig: Rig) -> None:
    made, _, _ = await _merged(rig)
    await rig.settle(121)
    made.catalog.somebody_renames(made.table("one"), "theirs")
    for damage in (None, "it was cut off"):
        made.catalog.somebody_damages_renamed("theirs", damage)  # who knows whose it is then
        compactor, _ = made.compactor(f"while {damage}")
        await compactor._care._asking.run()
        assert await _sweep(rig) == 0
