"""Repair of Parquet files deleted by other engines: restored from the table, or reported as lost."""

import pyarrow as pa
import pytest

from dray.index import ParquetEntry
from dray.keyspace import missing_files_range
from dray.log import LogDamaged
from dray.maintenance.recorded_differences import known_differences
from dray.objects.memory import MemoryObjects
from dray.sweep.files import FileSweep
from tests.compaction.another_engine import Change, lose, rewrite_data_files
from tests.compaction.passes import CompactorRig, compactor_rig
from tests.compaction.rounds import UNMERGED
from tests.log.builders import DOMAIN, STORE_DOMAIN, Rig, simulated
from tests.log.compacting import records

_HOUR_S = 3_601


async def _compacted(rig: Rig, files: int = 2) -> CompactorRig:
    """Return a topic compacted into files of two records each."""
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=UNMERGED)
    for _ in range(files - 1):
        await made.write("one")
        await made.run_pass()
    assert len(await made.files("one")) == files
    return made


@simulated
async def test_file_rewritten_and_deleted_by_another_engine_is_restored(rig: Rig) -> None:
    made = await _compacted(rig)
    before = await records(made.opened, made.stream("one"))
    deleted = await rewrite_data_files(made, "one")
    table = made.catalog.current(made.table("one"))
    await rig.settle(_HOUR_S)
    (result,) = await made.run_pass()
    assert (result.repaired, result.failure) == (2, "")
    files = await made.files("one")
    assert not {file.path for file in files} & set(deleted)
    fresh = await rig.open("fresh")
    assert await records(fresh, made.stream("one")) == before
    assert made.catalog.current(made.table("one")) == table
    assert made.counted("repaired_files_total") == 2
    assert made.counted("missing_files", topic="one") == 0


@simulated
async def test_file_missed_by_a_reader_is_restored_in_the_next_pass(rig: Rig) -> None:
    made = await _compacted(rig)
    before = await records(made.opened, made.stream("one"))
    await rewrite_data_files(made, "one")
    fresh = await rig.open("fresh")
    with pytest.raises(LogDamaged, match="no such object"):
        await records(fresh, made.stream("one"))
    assert await _notes(rig) == 1
    (result,) = await made.run_pass()
    assert result.repaired == 2
    assert await _notes(rig) == 0
    assert await records(fresh, made.stream("one")) == before


@simulated
async def test_files_are_restored_when_only_some_were_rewritten(rig: Rig) -> None:
    made = await _compacted(rig, 3)
    before = await records(made.opened, made.stream("one"))
    await rewrite_data_files(made, "one", count=2)
    await rig.settle(_HOUR_S)
    (result,) = await made.run_pass()
    assert result.repaired == 2
    assert await records(await rig.open("fresh"), made.stream("one")) == before


@simulated
async def test_restored_file_expires_like_any_other(rig: Rig) -> None:
    made = await _compacted(rig)
    await rewrite_data_files(made, "one")
    await rig.settle(_HOUR_S)
    await made.run_pass()
    await made.opened.log.trim(made.stream("one"), 2)
    await made.run_pass()
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
    ("change", "path", "reason"),
    [
        (_without(1), "", "1 of its 2 records; offsets 1 to 1 are lost"),
        (_with_twice(1), "", "more than once"),
        (_later, "", "rows were modified"),
        (lambda rows: rows.drop_columns(["attributes"]), "", "no column attributes"),
        (_elsewhere, "s3://theirs/x.parquet", "outside this cluster's store"),
    ],
)
def test_incomplete_file_is_reported_and_not_restored(
    change: Change, path: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    @simulated
    async def body(rig: Rig) -> None:
        made = await _compacted(rig)
        caplog.clear()
        await rewrite_data_files(made, "one", change, path=path, count=1)
        before = await made.files("one")
        table = made.catalog.current(made.table("one"))
        await rig.settle(_HOUR_S)
        (result,) = await made.run_pass()
        assert (result.repaired, result.failure) == (0, "")
        assert await made.files("one") == before
        assert made.catalog.current(made.table("one")) == table
        assert made.counted("missing_files", topic="one") == 1
        assert reason in caplog.text
        assert before[0].path in caplog.text
        assert "'topic': 'one', 'partition': 0" in caplog.text

    body()


def test_lost_file_is_reported_once_an_hour(caplog: pytest.LogCaptureFixture) -> None:
    @simulated
    async def body(rig: Rig) -> None:
        made = await _compacted(rig)
        (first, _) = await made.files("one")
        await lose(made, [first.path])
        caplog.clear()
        for _ in range(100):
            await rig.settle(90)
            await made.run_pass()
        lost = [one for one in caplog.records if "records_lost" in one.getMessage()]
        assert 2 <= len(lost) <= 3
        assert "offsets 0 to 1 are lost" in caplog.text
        (loss,) = await known_differences(rig.meta, made.found("one").topic_id)
        assert (loss.partition, loss.first_offset, loss.last_offset, loss.records) == (0, 0, 1, 2)
        assert first.path in loss.reason
        assert f"offsets 0 to 1 are lost; restore {first.path} from a backup" in loss.reason

    body()


@simulated
async def test_unfinished_job_is_completed_before_the_repair(rig: Rig) -> None:
    made = await _compacted(rig)
    await rewrite_data_files(made, "one", count=1)
    await rig.settle(_HOUR_S)
    await made.write("one")
    (result,) = await made.run_pass()
    assert result.repaired == 1
    kinds = [type(entry) for entry in await rig.entries(made.stream("one"))]
    assert kinds == [ParquetEntry] * 3


async def _notes(rig: Rig) -> int:
    return len(await rig.meta.scan(STORE_DOMAIN, *missing_files_range(DOMAIN)))
