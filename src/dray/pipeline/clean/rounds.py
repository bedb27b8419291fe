"""One go at cleaning one topic: a job for each of its streams that needs it, with the states of all jobs.

Comes after the round that takes the WAL into Parquet, and finishes nothing that was begun: that round does.
A job's record tells how far its stream is cleaned now, and from `written` on how far it will be: the swap
makes it so. All that is done before can be done again.

Files that somebody has changed in the table are left alone: one of which rows were deleted, and one that is
not in the table any more. What they hold stays in the stream.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass

import msgspec

from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.index import Cleaned, JobState, Replaced, keys_path
from dray.log import StreamUnknown
from dray.pipeline.clean.plan import CleanPolicy, CleanWork, plan_cleaning
from dray.pipeline.clean.tasks import CleanTask, Filtered, Mapped, MapTask
from dray.pipeline.drafts import new_file, new_job
from dray.pipeline.engine import TaskFailed, answers_of
from dray.pipeline.first_table import ensure_table
from dray.pipeline.job_store import StoredJob
from dray.pipeline.parts import CompactionParts
from dray.pipeline.report import RoundReport
from dray.pipeline.streams import read_stream
from dray.pipeline.topic_tables import table_of
from dray.records.columns import SEED_BYTES


@dataclass(slots=True)
class _Stream:
    """One stream's job, and how it goes."""

    stream: StreamId
    partition: int
    work: CleanWork
    before: StoredJob | None
    keys: Mapped | None = None
    failed: str = ""


class TopicCleaning:
    """Cleans the streams of one topic, but for those in `skipped`."""

    def __init__(self, parts: CompactionParts, topic: Topic, skipped: Container[StreamId] = ()) -> None:
        self._parts = parts
        self._topic = topic
        self._ref = topic.ref
        self._policy = CleanPolicy.of(topic.config)
        self._skipped = skipped
        self._report = RoundReport()
        self.failed: set[StreamId] = set()
        """Streams of which something could not be read or written."""

    async def run(self) -> RoundReport:
        """Do what there is to do; raises what the table or a store raises."""
        if not self._topic.config.is_compacted:
            return self._report
        found = [
            one
            for partition, stream in enumerate(self._topic.streams)
            if stream not in self._skipped and (one := await self._look(stream, partition)) is not None
        ]
        if found:
            await self._carry_out(found)
        return self._report

    async def _look(self, stream: StreamId, partition: int) -> _Stream | None:
        before = await self._parts.jobs.load(stream)
        if before is not None and before.job.is_unfinished:
            return None
        try:
            head, entries = await read_stream(self._parts, stream)
        except StreamUnknown:
            return None  # deleted meanwhile
        cleaned = Cleaned() if before is None else before.job.cleaned
        now_ms = self._parts.clock.now_ms()
        work = plan_cleaning(
            head, entries, cleaned, self._policy, settings=self._parts.settings, now_ms=now_ms
        )
        return None if work is None else _Stream(stream, partition, work, before)

    async def _carry_out(self, found: Sequence[_Stream]) -> None:
        await self._leave_alone(found)
        commit_id = self._parts.entropy.token(16).hex()
        begun = [await self._begin(one, commit_id) for one in found]
        await self._map(found)
        tasks = [[self._clean_task(one, number) for number in range(_files(one))] for one in found]
        every = [task for some in tasks for task in some]
        answers = iter(await answers_of(self._parts.perform, every, Filtered))
        await self._parts.publisher.discard([one.keys.path for one in found if one.keys is not None])
        written = []
        for one, job, some in zip(found, begun, tasks, strict=True):
            stored = await self._written(one, job, [(task, next(answers)) for task in some])
            if stored is not None:
                written.append(stored)
        await self._publish(written)

    async def _leave_alone(self, found: Sequence[_Stream]) -> None:
        await ensure_table(self._parts, self._topic)
        state = await self._parts.tables.current(table_of(self._ref))
        for one in found:
            one.work = one.work.leaving({entry.path for entry in one.work.entries} - state.whole_paths)

    async def _begin(self, one: _Stream, commit_id: str) -> StoredJob:
        start, end = one.work.first_offset, one.work.done_offset
        job = new_job(self._parts, self._ref, one.partition, start, end, commit_id=commit_id)
        return await self._parts.jobs.begin(one.stream, job, one.before)

    async def _map(self, found: Sequence[_Stream]) -> None:
        """Have the last offsets of dirty keys written down, where there are any and a file to look at."""
        dirty = [one for one in found if one.work.dirty and one.work.entries]
        if not dirty:
            return
        tasks = [self._map_task(one) for one in dirty]
        answers = await answers_of(self._parts.perform, tasks, Mapped)
        for one, answer in zip(dirty, answers, strict=True):
            if isinstance(answer, TaskFailed):
                one.failed = answer.why
            else:
                one.keys = answer

    def _map_task(self, one: _Stream) -> MapTask:
        work = one.work
        file_id, path = new_file(self._parts, self._topic.name, one.partition, one.stream)
        seed = self._parts.entropy.token(SEED_BYTES)
        return MapTask(
            one.stream, work.dirty, work.dirty_start, work.dirty_end, seed, file_id, keys_path(path)
        )

    def _clean_task(self, one: _Stream, number: int) -> CleanTask:
        work = one.work
        file_id, path = new_file(self._parts, self._topic.name, one.partition, one.stream)
        return CleanTask(
            stream=one.stream,
            partition=one.partition,
            entry=work.entries[number],
            first_offset=work.first_offset,
            dirty_start=work.dirty_start,
            dirty_end=work.dirty_end,
            expired=work.expired,
            keys=one.keys,
            file_id=file_id,
            path=path,
        )

    async def _written(
        self, one: _Stream, stored: StoredJob, done: Sequence[tuple[CleanTask, Filtered | TaskFailed]]
    ) -> StoredJob | None:
        """Note what was written, or that it was not: a job has all its files or none."""
        failed = [one.failed] if one.failed else []
        failed += [answer.why for _, answer in done if isinstance(answer, TaskFailed)]
        if failed:
            self.failed.add(one.stream)
            self._report.fail(stored.job, failed)
            await self._parts.jobs.end(stored, self._parts.clock.now_ms(), "; ".join(failed))
            return None
        filtered = [(task.entry, answer) for task, answer in done if isinstance(answer, Filtered)]
        changed = [(old, answer.rewritten.place) for old, answer in filtered if answer.rewritten is not None]
        self._report.dropped += sum(old.record_count - new.record_count for old, new in changed)
        job = msgspec.structs.replace(
            stored.job,
            state=JobState.WRITTEN,
            changed_at_ms=self._parts.clock.now_ms(),
            files=tuple(new for _, new in changed),
            replaced=tuple(Replaced(old.file_id, old.path) for old, _ in changed),
            cleaned_then=one.work.then(sum(answer.tombstones for _, answer in filtered), self._policy),
        )
        return await self._parts.jobs.change(stored, job)

    async def _publish(self, written: Sequence[StoredJob]) -> None:
        self._report.take(await self._parts.publisher.publish(self._ref, written))


def _files(one: _Stream) -> int:
    return 0 if one.failed else len(one.work.entries)
