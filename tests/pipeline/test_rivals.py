"""Two compactors that both believe in their lease: the table still gets every row once."""

from asyncio import Event
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from dray.ids import StreamId
from dray.index import CompactionJob, JobState
from dray.pipeline.job_store import JobLost, JobStore, StoredJob
from dray.pipeline.rounds import TopicRound
from dray.pipeline.topic_tables import table_of
from dray.runtime import Tasks
from dray.tables.memory import MemoryCatalog, MemoryTables
from dray.tables.port import TopicTable
from tests.log.builders import ONE, TWO, Rig, simulated
from tests.log.compacting import TOPIC, records
from tests.pipeline.rounds import STREAMS, Compaction

T = TypeVar("T")


class _Overtaken(JobStore):
    """Before the second of two streams is noted as written, a rival takes the first to its end."""

    def __init__(self, rig: Rig, rival: TopicRound) -> None:
        super().__init__(rig.meta, 1)
        self._rival = rival

    async def change(self, stored: StoredJob, job: CompactionJob) -> StoredJob:
        if stored.stream == TWO and job.state is JobState.WRITTEN:
            first = await self.load(ONE)
            assert first is not None
            await self._rival._finish([first])
        return await super().change(stored, job)


class _Halted(JobStore):
    """Is slow to note that a file is written, and halts when that is done."""

    def __init__(self, rig: Rig) -> None:
        super().__init__(rig.meta, 1)
        self.is_writing, self.may_note = Event(), Event()
        self.has_noted, self.may_go_on = Event(), Event()

    async def change(self, stored: StoredJob, job: CompactionJob) -> StoredJob:
        if job.state is not JobState.WRITTEN:
            return await super().change(stored, job)
        self.is_writing.set()
        await self.may_note.wait()
        changed = await super().change(stored, job)
        self.has_noted.set()
        await self.may_go_on.wait()
        return changed


class _Late(JobStore):
    """Looks at the stream a second time only when the other's file has been noted."""

    def __init__(self, rig: Rig, other: _Halted) -> None:
        super().__init__(rig.meta, 1)
        self._other = other
        self._looked = False

    async def load(self, stream: StreamId) -> StoredJob | None:
        if stream == ONE and self._looked:
            self._other.may_note.set()
            await self._other.has_noted.wait()
        self._looked = self._looked or stream == ONE
        return await super().load(stream)


class _Asleep(MemoryTables):
    """Halts where it is about to send a request of this name."""

    def __init__(self, catalog: MemoryCatalog, at: str) -> None:
        super().__init__(catalog)
        self._at = at
        self.sleeps, self.may_wake = Event(), Event()

    async def _call(self, name: str, table: TopicTable | None, request: Callable[[], T]) -> T:
        if name == self._at and not self.sleeps.is_set():
            self.sleeps.set()
            await self.may_wake.wait()
        return await super()._call(name, table, request)


async def _oversleeps(rig: Rig, at: str) -> None:
    """Others do the job, then the next one, and expire the snapshot of the first."""
    opened = await rig.open()
    await opened.append("a", ONE, records=2)
    compaction = Compaction(rig)
    asleep = _Asleep(compaction.catalog, at)
    sleeper = compaction.round("sleeper")
    sleeper._parts.publisher._tables = asleep
    running = Tasks().start(sleeper.run(), name="sleeper")
    await asleep.sleeps.wait()
    await compaction.run("rival")
    await opened.append("b", ONE)
    await compaction.run("rival")
    await rig.clock.sleep(1.0)
    assert compaction.catalog.expire(table_of(TOPIC), rig.clock.now_ms()).snapshots == 1
    asleep.may_wake.set()
    with pytest.raises(JobLost):
        await running
    assert compaction.table() == {0: [(0, 1), (2, 2)]}


@simulated
async def test_one_who_slept_before_it_looked_does_nothing_again(rig: Rig) -> None:
    await _oversleeps(rig, "snapshot_id")


@simulated
async def test_one_who_slept_after_it_looked_does_nothing_again(rig: Rig) -> None:
    await _oversleeps(rig, "append")


@simulated
async def test_a_job_that_has_written_something_is_not_replaced(rig: Rig) -> None:
    """Its rows may be on their way into the table."""
    opened = await rig.open()
    await opened.append("a", ONE, records=2)
    compaction = Compaction(rig)
    halted = _Halted(rig)
    first, second = compaction.round("first"), compaction.round("second")
    first._parts = replace(first._parts, jobs=halted)
    second._parts = replace(second._parts, jobs=_Late(rig, halted))
    running = Tasks().start(first.run(), name="first")
    await halted.is_writing.wait()
    with pytest.raises(JobLost):
        await second.run()
    halted.may_go_on.set()
    await running
    await compaction.run("next")
    assert compaction.table() == {0: [(0, 1)]}


@simulated
async def test_a_job_that_a_commit_went_without_is_not_taken_for_done(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("a", ONE, records=2)
    await opened.append("b", TWO)
    before = {stream: await records(opened, stream) for stream in STREAMS}
    compaction = Compaction(rig)
    slow = compaction.round("slow")
    slow._parts = replace(slow._parts, jobs=_Overtaken(rig, compaction.round("rival")))
    with pytest.raises(JobLost):
        await slow.run()
    assert compaction.table() == {0: [(0, 1)]}
    await compaction.run("next")
    await compaction.run("last")
    assert compaction.table() == {0: [(0, 1)], 1: [(0, 0)]}
    fresh = await rig.open("reader")
    assert {stream: await records(fresh, stream) for stream in STREAMS} == before
