"""Two compactors that both believe they hold the lease: the table still gets every row once."""

from asyncio import Event
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from dray.compaction.job_store import JobLost, JobStore, StoredJob
from dray.compaction.rounds import TopicRound
from dray.compaction.topic_tables import table_of
from dray.ids import StreamId
from dray.index import CompactionJob, JobState
from dray.runtime import Tasks
from dray.tables.port import TopicTable
from dray.testing.memory_tables import MemoryCatalog, MemoryTables
from tests.compaction.rounds import STREAMS, Compaction
from tests.log.builders import ONE, TWO, Rig, simulated
from tests.log.compacting import TOPIC, records

T = TypeVar("T")


class _OvertakenJobs(JobStore):
    """Before the second of two jobs is recorded as written, another compactor finishes the first."""

    def __init__(self, rig: Rig, other: TopicRound) -> None:
        super().__init__(rig.meta, 1)
        self._other = other

    async def update(self, stored: StoredJob, job: CompactionJob) -> StoredJob:
        if stored.stream == TWO and job.state is JobState.WRITTEN:
            first = await self.load(ONE)
            assert first is not None
            await self._other._finish([first])
        return await super().update(stored, job)


class _StallingJobs(JobStore):
    """Waits before recording that a file is written, and again after that."""

    def __init__(self, rig: Rig) -> None:
        super().__init__(rig.meta, 1)
        self.reached_write, self.may_write = Event(), Event()
        self.has_written, self.may_continue = Event(), Event()

    async def update(self, stored: StoredJob, job: CompactionJob) -> StoredJob:
        if job.state is not JobState.WRITTEN:
            return await super().update(stored, job)
        self.reached_write.set()
        await self.may_write.wait()
        changed = await super().update(stored, job)
        self.has_written.set()
        await self.may_continue.wait()
        return changed


class _LateJobs(JobStore):
    """Loads the job a second time only after the other compactor has recorded its file."""

    def __init__(self, rig: Rig, other: _StallingJobs) -> None:
        super().__init__(rig.meta, 1)
        self._other = other
        self._loaded = False

    async def load(self, stream: StreamId) -> StoredJob | None:
        if stream == ONE and self._loaded:
            self._other.may_write.set()
            await self._other.has_written.wait()
        self._loaded = self._loaded or stream == ONE
        return await super().load(stream)


class _StallingTables(MemoryTables):
    """Stalls before the first request of a given name."""

    def __init__(self, catalog: MemoryCatalog, at: str) -> None:
        super().__init__(catalog)
        self._at = at
        self.stalled, self.may_continue = Event(), Event()

    async def _call(self, name: str, table: TopicTable | None, request: Callable[[], T]) -> T:
        if name == self._at and not self.stalled.is_set():
            self.stalled.set()
            await self.may_continue.wait()
        return await super()._call(name, table, request)


async def _stall_past_snapshot_expiry(rig: Rig, at: str) -> None:
    """While one compactor stalls, another does its job and the next one, and expires the first snapshot."""
    opened = await rig.open()
    await opened.append("a", ONE, records=2)
    compaction = Compaction(rig)
    stalling = _StallingTables(compaction.catalog, at)
    stalled = compaction.round("stalled")
    stalled._deps.publisher._tables = stalling
    running = Tasks().start(stalled.run(), name="stalled")
    await stalling.stalled.wait()
    await compaction.run("other")
    await opened.append("b", ONE)
    await compaction.run("other")
    await rig.clock.sleep(1.0)
    assert compaction.catalog.expire(table_of(TOPIC), rig.clock.now_ms()).snapshots == 1
    stalling.may_continue.set()
    with pytest.raises(JobLost):
        await running
    assert compaction.table() == {0: [(0, 1), (2, 2)]}


@simulated
async def test_compactor_that_stalls_before_reading_the_snapshot_id_repeats_no_commit(rig: Rig) -> None:
    await _stall_past_snapshot_expiry(rig, "snapshot_id")


@simulated
async def test_compactor_that_stalls_before_its_commit_repeats_no_commit(rig: Rig) -> None:
    await _stall_past_snapshot_expiry(rig, "append")


@simulated
async def test_job_with_written_files_is_not_replaced(rig: Rig) -> None:
    """Its rows may be on their way into the table."""
    opened = await rig.open()
    await opened.append("a", ONE, records=2)
    compaction = Compaction(rig)
    stalling = _StallingJobs(rig)
    first, second = compaction.round("first"), compaction.round("second")
    first._deps = replace(first._deps, jobs=stalling)
    second._deps = replace(second._deps, jobs=_LateJobs(rig, stalling))
    running = Tasks().start(first.run(), name="first")
    await stalling.reached_write.wait()
    with pytest.raises(JobLost):
        await second.run()
    stalling.may_continue.set()
    await running
    await compaction.run("next")
    assert compaction.table() == {0: [(0, 1)]}


@simulated
async def test_job_left_out_of_the_table_commit_is_not_marked_done(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("a", ONE, records=2)
    await opened.append("b", TWO)
    before = {stream: await records(opened, stream) for stream in STREAMS}
    compaction = Compaction(rig)
    slow = compaction.round("slow")
    slow._deps = replace(slow._deps, jobs=_OvertakenJobs(rig, compaction.round("other")))
    with pytest.raises(JobLost):
        await slow.run()
    assert compaction.table() == {0: [(0, 1)]}
    await compaction.run("next")
    await compaction.run("last")
    assert compaction.table() == {0: [(0, 1)], 1: [(0, 0)]}
    fresh = await rig.open("reader")
    assert {stream: await records(fresh, stream) for stream in STREAMS} == before
