"""Compaction rounds: WAL ranges are published to table and index, also after a crash at any step."""

import pytest

from dray.compaction.job_store import JobLost, JobStore
from dray.compaction.topic_tables import table_of
from dray.index import CompactionJob, JobState, ParquetEntry, WalEntry
from dray.objects.memory import MemoryObjects
from dray.sweep.files import FileSweep
from dray.sweep.wal import WalSweep
from dray.tables.port import OutcomeUnknown, Unavailable
from dray.testing.memory_tables import ScriptedFaults
from dray.testing.nodes import Node, NodeCrashed
from tests.compaction.crashes import CrashAtStep, crash_at_every_step
from tests.compaction.rounds import STREAMS, Compaction
from tests.log.builders import DOMAIN, ONE, TWO, OpenLog, Rig, simulated
from tests.log.compacting import TOPIC, records

_STEPS_MAX = 120


async def _filled(rig: Rig, count: int = 4) -> OpenLog:
    opened = await rig.open()
    for number in range(count):
        await opened.append(f"a{number}", ONE, records=2)
        await opened.append(f"b{number}", TWO, producer_id=7, epoch=0, sequence=number)
    return opened


@simulated
async def test_round_publishes_all_records_to_table_and_index(rig: Rig) -> None:
    opened = await _filled(rig)
    before = {stream: await records(opened, stream) for stream in STREAMS}
    compaction = Compaction(rig)
    report = await compaction.run()
    assert (report.files, report.records, report.failures) == (2, 12, [])
    assert compaction.table() == {0: [(0, 7)], 1: [(0, 3)]}
    fresh = await rig.open("b")
    for stream in STREAMS:
        assert [type(entry) for entry in await rig.entries(stream)] == [ParquetEntry]
        assert await records(fresh, stream) == before[stream]


@simulated
async def test_round_without_work_does_nothing(rig: Rig) -> None:
    await _filled(rig)
    compaction = Compaction(rig)
    await compaction.run()
    snapshot = compaction.catalog.current(table_of(TOPIC)).snapshot_id
    report = await compaction.run()
    assert (report.files, report.failures) == (0, [])
    assert compaction.catalog.current(table_of(TOPIC)).snapshot_id == snapshot


@simulated
async def test_producer_state_survives_compaction_of_its_entries(rig: Rig) -> None:
    await _filled(rig)
    await Compaction(rig).run()
    fresh = await rig.open("b")
    again = await fresh.append("b3", TWO, producer_id=7, epoch=0, sequence=3)
    assert (again.base_offset, again.duplicate) == (3, True)


@simulated
async def test_small_files_are_merged_in_table_and_index(rig: Rig) -> None:
    opened = await rig.open()
    compaction = Compaction(rig)
    for number in range(2):
        await opened.append(f"a{number}")
        await compaction.run(f"c{number}")
    assert compaction.table() == {0: [(0, 0), (1, 1)]}
    await opened.append("a2")
    before = await records(opened)
    report = await compaction.run("merge")
    assert report.files == 2, "one from the WAL, then the merge of all three"
    assert compaction.table() == {0: [(0, 2)]}
    fresh = await rig.open("b")
    assert await records(fresh) == before


@simulated
async def test_unreadable_stream_does_not_affect_the_others(rig: Rig) -> None:
    await _filled(rig)
    compaction = Compaction(rig)
    compaction.bad[ONE] = "object wal/x is damaged"
    report = await compaction.run()
    assert report.failures == ["partition 0 of t: object wal/x is damaged"]
    assert compaction.table() == {1: [(0, 3)]}
    assert all(isinstance(entry, WalEntry) for entry in await rig.entries(ONE))
    compaction.bad.clear()
    await compaction.run("later")
    assert compaction.table() == {0: [(0, 7)], 1: [(0, 3)]}


@simulated
async def test_unavailable_catalog_does_not_affect_the_log(rig: Rig) -> None:
    opened = await _filled(rig)
    compaction = Compaction(rig)
    with pytest.raises(Unavailable):
        await compaction.run(faults=ScriptedFaults("append", ["refuse"]))
    await opened.append("more")
    assert len(await records(opened)) == 9
    await compaction.run("later")
    assert compaction.table() == {0: [(0, 7), (8, 8)], 1: [(0, 3)]}


@simulated
async def test_commit_whose_response_was_lost_is_not_repeated(rig: Rig) -> None:
    await _filled(rig)
    compaction = Compaction(rig)
    with pytest.raises(OutcomeUnknown):
        await compaction.run(faults=ScriptedFaults("append", ["lost_answer"]))
    await compaction.run("later")
    assert compaction.table() == {0: [(0, 7)], 1: [(0, 3)]}


@simulated
async def test_deleted_streams_are_ignored(rig: Rig) -> None:
    opened = await _filled(rig)
    for stream in STREAMS:
        await opened.log.delete_stream(stream)
    report = await Compaction(rig).run()
    assert (report.files, report.failures) == (0, [])


@simulated
async def test_updates_of_a_job_changed_by_another_compactor_raise_job_lost(rig: Rig) -> None:
    jobs = JobStore(rig.meta, 1)
    job = CompactionJob("j", "c", TOPIC, 0, JobState.CREATED, 0, 0, 0, 1)
    mine = await jobs.begin(ONE, job, None)
    theirs = await jobs.load(ONE)
    assert theirs == mine
    await jobs.update(mine, job)
    with pytest.raises(JobLost):
        await jobs.update(theirs, job)
    with pytest.raises(JobLost):
        await jobs.begin(ONE, job, None)


def test_crash_at_any_step_is_recovered_by_the_next_round() -> None:
    crash_at_every_step(_crash_once, _STEPS_MAX)


async def _crash_once(crash: CrashAtStep) -> bool:
    rig = Rig()
    opened = await _filled(rig)
    before = {stream: await records(opened, stream) for stream in STREAMS}
    await opened.log.close()
    compaction = Compaction(rig)
    crash.node = Node("compactor")
    finished = True
    try:
        await crash.node.run(compaction.run("crashing", slow_stores=True))
    except NodeCrashed:
        finished = False
    await rig.settle()
    await compaction.run("survivor")
    assert compaction.table() == {0: [(0, 7)], 1: [(0, 3)]}
    await _check_consistency(rig, compaction)
    fresh = await rig.open("reader")
    for stream in STREAMS:
        assert await records(fresh, stream) == before[stream]
    return finished


async def _check_consistency(rig: Rig, compaction: Compaction) -> None:
    """Check that after a sweep bucket, index and table hold the same files."""
    await rig.settle(100)
    objects = MemoryObjects(rig.bucket)
    files = FileSweep(rig.meta, objects, DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=1)
    await files.run()
    await files.run_strays()
    await WalSweep(rig.meta, objects, DOMAIN, rig.clock, 1).run()
    indexed = {entry.path for stream in STREAMS for entry in await rig.entries(stream)}
    in_table = {file.path for file in compaction.catalog.current(table_of(TOPIC)).files}
    assert set(rig.paths()) == indexed == in_table
    assert await rig.committed() == []
    jobs = JobStore(rig.meta, 1)
    for stream in STREAMS:
        stored = await jobs.load(stream)
        assert stored is not None
        assert stored.job.state is JobState.DONE
