"""Parquet files that others have deleted come back out of the table, or their loss is told."""

import pyarrow as pa
import pytest

from dray.index import ParquetEntry
from dray.log import LogDamaged
from dray.meta.port import Domain
from dray.objects.memory import MemoryObjects
from dray.pipeline.care.audit import known_differences
from dray.sweep.files import FileSweep
from tests.log.builders import DOMAIN, STORE_DOMAIN, Rig, simulated
from tests.log.compacting import records
from tests.pipeline.another_engine import Change, lose, rewrite_data_files
from tests.pipeline.rounds import UNMERGED
from tests.pipeline.turns import Turns, turns_over

_HOUR_S = 3_601


async def _compacted(rig: Rig, files: int = 2) -> Turns:
    """A topic in files of two records each."""
    made = await turns_over(rig, "one")
    await made.turn(settings=UNMERGED)
    for _ in range(files - 1):
        await made.write("one")
        await made.turn()
    assert len(await made.files("one")) == files
    return made


@simulated
async def test_a_file_that_another_engine_has_rewritten_and_deleted_is_written_again(rig: Rig) -> None:
    made = await _compacted(rig)
    before = await records(made.opened, made.stream("one"))
    gone = await rewrite_data_files(made, "one")
    table = made.catalog.current(made.table("one"))
    await rig.settle(_HOUR_S)
    (turn,) = await made.turn()
    assert (turn.repaired, turn.failure) == (2, "")
    files = await made.files("one")
    assert not {file.path for file in files} & set(gone)
    fresh = await rig.open("fresh")
    assert await records(fresh, made.stream("one")) == before
    assert made.catalog.current(made.table("one")) == table
    assert made.counted("repaired_files_total") == 2
    assert made.counted("missing_files", topic="one") == 0


@simulated
async def test_a_reader_who_misses_a_file_has_it_written_again_at_once(rig: Rig) -> None:
    made = await _compacted(rig)
    before = await records(made.opened, made.stream("one"))
    await rewrite_data_files(made, "one")
    fresh = await rig.open("fresh")
    with pytest.raises(LogDamaged, match="no such object"):
        await records(fresh, made.stream("one"))
    assert await _notes(rig) == 1
    (turn,) = await made.turn()
    assert turn.repaired == 2
    assert await _notes(rig) == 0
    assert await records(fresh, made.stream("one")) == before


@simulated
async def test_one_file_of_several_is_found_among_theirs(rig: Rig) -> None:
    made = await _compacted(rig, 3)
    before = await records(made.opened, made.stream("one"))
    await rewrite_data_files(made, "one", count=2)
    await rig.settle(_HOUR_S)
    (turn,) = await made.turn()
    assert turn.repaired == 2
    assert await records(await rig.open("fresh"), made.stream("one")) == before


@simulated
async def test_what_was_brought_back_can_be_given_up_later(rig: Rig) -> None:
    made = await _compacted(rig)
    await rewrite_data_files(made, "one")
    await rig.settle(_HOUR_S)
    await made.turn()
    await made.opened.log.trim(made.stream("one"), 2)
    await made.turn()
    await rig.settle(100)
    objects = MemoryObjects(rig.bucket)
    sweep = FileSweep(rig.meta, objects, DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=1)
    await sweep.run()
    await sweep.run_strays()
    left = {file.path for file in await made.files("one")}
    assert {path for path in rig.paths() if path.startswith("compaction/")} == left
    assert len(left) == 1


def _without(offset: int) -> Change:
    return lambda rows: rows.filter(pa.compute.not_equal(rows.column("offset"), offset))


def _with_twice(offset: int) -> Change:
    def change(rows: pa.Table) -> pa.Table:
        twice = rows.filter(pa.compute.equal(rows.column("offset"), offset))
        return pa.concat_tables([rows.filter(pa.compute.greater(rows.column("offset"), 0)), twice])

    return change


def _later(rows: pa.Table) -> pa.Table:
    moved = pa.compute.add(rows.column("timestamp"), pa.scalar(5_000_000, pa.duration("us")))
    return rows.set_column(2, rows.schema.field("timestamp"), moved.cast(pa.timestamp("us", "UTC")))


def _elsewhere(rows: pa.Table) -> pa.Table:
    return rows


@pytest.mark.parametrize(
    ("change", "path", "told"),
    [
        (_without(1), "", "1 of its 2 records; offsets 1 to 1 are lost"),
        (_with_twice(1), "", "more than once"),
        (_later, "", "other timestamps"),
        (lambda rows: rows.drop_columns(["attributes"]), "", "no column attributes"),
        (_elsewhere, "s3://theirs/x.parquet", "outside this cluster's store"),
    ],
)
def test_what_is_not_whole_is_told_and_left(
    change: Change, path: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    @simulated
    async def body(rig: Rig) -> None:
        made = await _compacted(rig)
        caplog.clear()
        await rewrite_data_files(made, "one", change, path=path, count=1)
        before = await made.files("one")
        table = made.catalog.current(made.table("one"))
        await rig.settle(_HOUR_S)
        (turn,) = await made.turn()
        assert (turn.repaired, turn.failure) == (0, "")
        assert await made.files("one") == before
        assert made.catalog.current(made.table("one")) == table
        assert made.counted("missing_files", topic="one") == 1
        assert told in caplog.text
        assert before[0].path in caplog.text
        assert "'topic': 'one', 'partition': 0" in caplog.text

    body()


def test_a_file_that_nobody_has_is_told_once_an_hour(caplog: pytest.LogCaptureFixture) -> None:
    @simulated
    async def body(rig: Rig) -> None:
        made = await _compacted(rig)
        (first, _) = await made.files("one")
        await lose(made, [first.path])
        caplog.clear()
        for _ in range(100):
            await rig.settle(90)
            await made.turn()
        lost = [one for one in caplog.records if "records_lost" in one.getMessage()]
        assert 2 <= len(lost) <= 3
        assert "offsets 0 to 1 are lost" in caplog.text
        (loss,) = await known_differences(rig.meta, made.found("one").topic_id)
        assert (loss.partition, loss.first_offset, loss.last_offset, loss.records) == (0, 0, 1, 2)
        assert first.path in loss.why
        assert "offsets 0 to 1 are lost; restore it" in loss.why

    body()


@simulated
async def test_a_job_under_way_is_finished_first(rig: Rig) -> None:
    made = await _compacted(rig)
    await rewrite_data_files(made, "one", count=1)
    await rig.settle(_HOUR_S)
    await made.write("one")
    (turn,) = await made.turn()
    assert turn.repaired == 1
    kinds = [type(entry) for entry in await rig.entries(made.stream("one"))]
    assert kinds == [ParquetEntry] * 3


async def _notes(rig: Rig) -> int:
    folder = f"/dray/v1/parquet/missing/{STORE_DOMAIN}/"
    return len(await rig.meta.scan(Domain(STORE_DOMAIN), folder, folder + "~"))
