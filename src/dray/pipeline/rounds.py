"""One go at one topic: finish what was begun, then plan the next piece of work and carry it out.

    created ─▶ written ─▶ tabled ─▶ done        for every stream that has something to do

All streams of a topic go together, so that a round is one Spark job and one commit to the table. What goes
wrong with one stream is told and leaves the others alone; what goes wrong with the table leaves the jobs
where they are, for the next round. Nobody reads or writes the log less because of it.

One compactor at a time works on a topic, by lease; should two believe that they do, each step checks the
job's record, and one of them is told that it has lost.
"""

from collections.abc import Awaitable, Callable, Collection, Container, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.index import JobState, ParquetEntry, Replaced
from dray.log import StreamUnknown
from dray.pipeline.drafts import new_file, new_job
from dray.pipeline.engine import TaskFailed, answers_of
from dray.pipeline.first_table import ensure_table
from dray.pipeline.job_store import StoredJob
from dray.pipeline.next_spans import NextSpans, Settled
from dray.pipeline.parts import CompactionParts
from dray.pipeline.plan import Span
from dray.pipeline.report import RoundReport
from dray.pipeline.rewrite import Rewritten, SpanTask


@dataclass(frozen=True, slots=True)
class _Work:
    """What is to be done to one stream."""

    stream: StreamId
    partition: int
    spans: Sequence[Span]
    before: StoredJob | None


class TopicRound:
    """A round over the streams of one topic."""

    def __init__(
        self,
        parts: CompactionParts,
        topic: Topic,
        skipped: Container[StreamId] = (),
        settled: Settled | None = None,
        damaged: Collection[str] = (),
    ) -> None:
        """Streams in `skipped` failed a short while ago; they are not planned, and hold up nobody. The rest
        is what `NextSpans` is told."""
        self._parts = parts
        self._topic = topic
        self._skipped = skipped
        self._next = NextSpans(parts, topic, {} if settled is None else settled, damaged)
        self._ref = topic.ref
        self._report = RoundReport()

    async def run(self) -> RoundReport:
        """Do what there is to do; raises what the table or a store raises."""
        await self.finish()
        for spans_of in (self._next.in_wal, self._next.in_files):  # both: there may always be some in the WAL
            work = [
                found
                for partition, (stream, before) in enumerate(await self._jobs())
                if (found := await self._look(spans_of, stream, partition, before)) is not None
            ]
            if work:
                await self._carry_out(work)
        return self._report

    async def finish(self) -> RoundReport:
        """Take what was begun to its end; no file is written for that."""
        await self._finish(job for _, job in await self._jobs() if job is not None)
        return self._report

    async def _jobs(self) -> list[tuple[StreamId, StoredJob | None]]:
        return [(stream, await self._parts.jobs.load(stream)) for stream in self._topic.streams]

    # What was begun

    async def _finish(self, jobs: Iterable[StoredJob]) -> None:
        """Take jobs that a dead compactor left to their end; one that wrote nothing yet is planned anew."""
        by_commit: dict[str, list[StoredJob]] = {}
        for stored in jobs:
            if stored.job.is_unfinished:
                by_commit.setdefault(stored.job.commit_id, []).append(stored)
        for together in by_commit.values():
            await self._publish(together)

    # What is next

    async def _look(
        self,
        spans_of: Callable[[StreamId], Awaitable[Sequence[Span]]],
        stream: StreamId,
        partition: int,
        before: StoredJob | None,
    ) -> _Work | None:
        if stream in self._skipped:
            return None
        try:
            spans = await spans_of(stream)
        except StreamUnknown:
            return None  # deleted meanwhile
        return _Work(stream, partition, spans, before) if spans else None

    # Carrying it out

    async def _carry_out(self, work: Sequence[_Work]) -> None:
        await ensure_table(self._parts, self._topic)
        commit_id = self._parts.entropy.token(16).hex()
        begun = [await self._begin(one, commit_id) for one in work]
        tasks = [[self._task(one, span) for span in one.spans] for one in work]
        every = [task for some in tasks for task in some]
        answers = iter(await answers_of(self._parts.perform, every, Rewritten))
        written = []
        for job, some in zip(begun, tasks, strict=True):
            stored = await self._written(job, [next(answers) for _ in some])
            if stored is not None:
                written.append(stored)
        await self._publish(written)

    async def _begin(self, work: _Work, commit_id: str) -> StoredJob:
        start, end = work.spans[0].start_offset, work.spans[-1].end_offset
        drafted = new_job(self._parts, self._ref, work.partition, start, end, commit_id=commit_id)
        replaced = tuple(
            Replaced(entry.file_id, entry.path)
            for span in work.spans
            for entry in span.entries
            if isinstance(entry, ParquetEntry) and entry.record_count
        )
        job = msgspec.structs.replace(drafted, replaced=replaced)
        return await self._parts.jobs.begin(work.stream, job, work.before)

    def _task(self, work: _Work, span: Span) -> SpanTask:
        file_id, path = new_file(self._parts, self._topic.name, work.partition, work.stream)
        return SpanTask(work.stream, work.partition, span.entries, span.first_offset, file_id, path)

    async def _written(
        self, stored: StoredJob, answers: Sequence[Rewritten | TaskFailed]
    ) -> StoredJob | None:
        """Note what was written, or that it was not: a job has all its files or none."""
        job, now_ms = stored.job, self._parts.clock.now_ms()
        files = [answer for answer in answers if isinstance(answer, Rewritten)]
        failed = [answer.why for answer in answers if isinstance(answer, TaskFailed)]
        if failed:
            self._report.fail(job, failed)
            await self._parts.jobs.end(stored, now_ms, "; ".join(failed))
            return None
        self._report.leave_out(job, files)
        places = tuple(file.place for file in files)
        changed = msgspec.structs.replace(job, state=JobState.WRITTEN, changed_at_ms=now_ms, files=places)
        return await self._parts.jobs.change(stored, changed)

    async def _publish(self, written: Sequence[StoredJob]) -> None:
        self._report.take(await self._parts.publisher.publish(self._ref, written))
