"""Two compactors that both believe in their lease: the table still gets every row once."""

from asyncio import Event
from dataclasses import replace

import pytest

from dray.ids import StreamId
from dray.index import CompactionJob, JobState
from dray.pipeline.job_store import JobLost, JobStore, StoredJob
from dray.pipeline.rounds import TopicRound
from dray.runtime import Tasks
from tests.log.builders import ONE, TWO, Rig, simulated
from tests.log.compacting import records
from tests.pipeline.rounds import STREAMS, Compaction


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
