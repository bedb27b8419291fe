"""One go at one topic: finish what was begun, then plan the next piece of work and carry it out.

    created ─▶ written ─▶ tabled ─▶ done        for every stream that has something to do

All streams of a topic go together, so that a round is one Spark job and one commit to the table. What goes
wrong with one stream is told and leaves the others alone; what goes wrong with the table leaves the jobs
where they are, for the next round. Nobody reads or writes the log less because of it.

One compactor at a time works on a topic, by lease; should two believe that they do, each step checks the
job's record, and one of them is told that it has lost.
"""

from collections.abc import Awaitable, Callable, Collection, Container, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from dray.cluster.topics import Topic
from dray.ids import FileId, StreamId
from dray.index import (
    CompactionJob,
    IndexEntry,
    JobState,
    ParquetEntry,
    Replaced,
    StreamHead,
    decode_entry,
    entries_after,
    file_path,
)
from dray.log import LogSettings, StreamUnknown
from dray.log.snapshot import write_snapshot
from dray.log.states import read_head
from dray.meta.port import MetaStore
from dray.pipeline.first_table import ensure_table
from dray.pipeline.index_files import IndexFiles
from dray.pipeline.job_store import JobStore, StoredJob
from dray.pipeline.plan import (
    Grain,
    Span,
    grain_of,
    merge_spans,
    wal_spans,
    wants_snapshot,
)
from dray.pipeline.publish import Publisher, table_of
from dray.pipeline.rewrite import Rewritten, SpanTask
from dray.pipeline.settings import CompactionSettings
from dray.pipeline.work import Answer, Task
from dray.runtime import Clock, Entropy
from dray.tables.port import Tables


@dataclass(frozen=True, slots=True)
class TaskFailed:
    """A file that could not be written, and why; `damaged` is the object that could not be read, if any."""

    why: str
    damaged: str = ""


class EngineFailed(Exception):
    """Whoever writes the files did not start, or does nothing: no topic's files can be written for now."""


Rewrite = Callable[[Sequence[SpanTask]], Awaitable[Sequence[Rewritten | TaskFailed]]]
"""Writes files, each from its span; answers stand beside the tasks. Raises `EngineFailed`."""
Perform = Callable[[Sequence[Task]], Awaitable[Sequence[Answer | TaskFailed]]]
"""Does tasks of any kind; answers stand beside the tasks. Raises `EngineFailed`."""


@dataclass(slots=True)
class RoundReport:
    """What a round did."""

    files: int = 0
    records: int = 0
    unreadable: list[str] = field(default_factory=list)
    """Batches that no client can read and that became no rows: where, how many, and why."""
    failures: list[str] = field(default_factory=list)
    dropped: int = 0
    """Records that cleaning by key has left out."""

    def take(self, published: Iterable[StoredJob]) -> None:
        """Add what came of jobs in table and index."""
        for stored in published:
            job = stored.job
            if job.outcome:
                self.failures.append(f"{_place(job)}: {job.outcome}")
                continue
            self.files += len(job.files)
            self.records += sum(file.record_count for file in job.files)

    def add(self, other: "RoundReport") -> None:
        """Add what another round did."""
        self.files += other.files
        self.records += other.records
        self.unreadable += other.unreadable
        self.failures += other.failures
        self.dropped += other.dropped


@dataclass(frozen=True, slots=True)
class RoundParts:
    """What a compactor gives its rounds."""

    meta: MetaStore
    jobs: JobStore
    tables: Tables
    publisher: Publisher
    rewrite: Rewrite
    clock: Clock
    entropy: Entropy
    settings: CompactionSettings
    log_settings: LogSettings
    perform: Perform | None = None
    """For cleaning by key; without it none is done."""


@dataclass(frozen=True, slots=True)
class _Work:
    """What is to be done to one stream."""

    stream: StreamId
    partition: int
    spans: Sequence[Span]
    before: StoredJob | None


Settled = MutableMapping[StreamId, tuple[StreamHead, Grain]]
"""Streams of which nothing was left to compact or to merge, with their heads and grains at that time."""


class TopicRound:
    """A round over the streams of one topic."""

    def __init__(
        self,
        parts: RoundParts,
        topic: Topic,
        skipped: Container[StreamId] = (),
        settled: Settled | None = None,
        damaged: Collection[str] = (),
    ) -> None:
        """Streams in `skipped` failed a short while ago; they are not planned, and hold up nobody.

        Those in `settled` are not looked through again until their heads or grains change. Files in `damaged`
        cannot be read and are merged with nothing.
        """
        self._parts = parts
        self._topic = topic
        self._skipped = skipped
        self._settled = {} if settled is None else settled
        self._damaged = frozenset(damaged)
        self._ref = topic.ref
        self._grain = grain_of(topic.config)
        self._report = RoundReport()
        self._replaceable: frozenset[str] | None = None

    async def run(self) -> RoundReport:
        """Do what there is to do; raises what the table or a store raises."""
        await self.finish()
        for planned in (self._plan_wal, self._plan_merge):  # both: there may always be something in the WAL
            work = [
                found
                for partition, (stream, before) in enumerate(await self._jobs())
                if (found := await self._look(planned, stream, partition, before)) is not None
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
        plan: "Callable[[StreamId], Awaitable[Sequence[Span]]]",
        stream: StreamId,
        partition: int,
        before: StoredJob | None,
    ) -> _Work | None:
        if stream in self._skipped:
            return None
        try:
            spans = await plan(stream)
        except StreamUnknown:
            return None  # deleted meanwhile
        return _Work(stream, partition, spans, before) if spans else None

    async def _plan_wal(self, stream: StreamId) -> Sequence[Span]:
        if await self._is_settled(stream):
            return []
        head, entries = await self._read(stream)
        now_ms, settings = self._parts.clock.now_ms(), self._parts.settings
        if wants_snapshot(head, entries, settings, now_ms):
            domain = self._parts.jobs.store_domain(stream)
            await write_snapshot(
                self._parts.meta, domain, stream, self._parts.clock, self._parts.log_settings
            )
            head, entries = await self._read(stream)
        return wal_spans(head, entries, settings, now_ms, self._grain)

    async def _plan_merge(self, stream: StreamId) -> Sequence[Span]:
        """Plan a merge; the table is asked only when there is something to merge."""
        if await self._is_settled(stream):
            return []
        head, entries = await self._read(stream)
        settings = self._parts.settings
        if not merge_spans(head, entries, settings, self._grain):
            if all(isinstance(entry, ParquetEntry) for entry in entries):
                self._settled[stream] = head, self._grain
            return []
        return merge_spans(head, entries, settings, self._grain, await self._replaceable_files())

    async def _replaceable_files(self) -> frozenset[str]:
        """The files that the table names as the index does.

        One that another engine has rewritten cannot be replaced, and one of which somebody has deleted rows
        without rewriting it would come back whole.
        """
        if self._replaceable is None:
            state = await self._parts.tables.current(table_of(self._ref))
            whole = frozenset(file.path for file in state.files if not file.has_deletes)
            self._replaceable = whole - self._damaged
        return self._replaceable

    async def _is_settled(self, stream: StreamId) -> bool:
        before = self._settled.get(stream)
        if before is None:
            return False
        head, _ = await read_head(self._parts.meta, self._parts.jobs.store_domain(stream), stream)
        return (head, self._grain) == before

    async def _read(self, stream: StreamId) -> tuple[StreamHead, list[IndexEntry]]:
        return await read_stream(self._parts, stream)

    # Carrying it out

    async def _carry_out(self, work: Sequence[_Work]) -> None:
        await ensure_table(self._parts.tables, IndexFiles(self._parts.meta, self._parts.jobs), self._topic)
        commit_id = self._parts.entropy.token(16).hex()
        begun = [await self._begin(one, commit_id) for one in work]
        tasks = [[self._task(one, span) for span in one.spans] for one in work]
        answers = iter(await self._parts.rewrite([task for some in tasks for task in some]))
        written = []
        for job, some in zip(begun, tasks, strict=True):
            stored = await self._written(job, [next(answers) for _ in some])
            if stored is not None:
                written.append(stored)
        await self._publish(written)

    async def _begin(self, work: _Work, commit_id: str) -> StoredJob:
        now_ms = self._parts.clock.now_ms()
        job = CompactionJob(
            job_id=self._parts.entropy.token(16).hex(),
            commit_id=commit_id,
            topic=self._ref,
            partition=work.partition,
            state=JobState.CREATED,
            created_at_ms=now_ms,
            changed_at_ms=now_ms,
            start_offset=work.spans[0].start_offset,
            end_offset=work.spans[-1].end_offset,
            replaced=tuple(
                Replaced(entry.file_id, entry.path)
                for span in work.spans
                for entry in span.entries
                if isinstance(entry, ParquetEntry) and entry.record_count
            ),
        )
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
            self._report.failures += [f"{_place(job)}: {why}" for why in failed]
            await self._parts.jobs.end(stored, now_ms, "; ".join(failed))
            return None
        self._report.unreadable += [
            f"{_place(job)}: {file.unreadable_batches} batches became no rows; {file.first_unreadable}"
            for file in files
            if file.unreadable_batches
        ]
        places = tuple(file.place for file in files)
        changed = msgspec.structs.replace(job, state=JobState.WRITTEN, changed_at_ms=now_ms, files=places)
        return await self._parts.jobs.change(stored, changed)

    async def _publish(self, written: Sequence[StoredJob]) -> None:
        self._report.take(await self._parts.publisher.publish(self._ref, written))


def _place(job: CompactionJob) -> str:
    return f"partition {job.partition} of {job.topic.name}"


async def read_stream(parts: RoundParts, stream: StreamId) -> tuple[StreamHead, list[IndexEntry]]:
    """Return a stream's head and its readable entries; raises `StreamUnknown`."""
    domain = parts.jobs.store_domain(stream)
    head, _ = await read_head(parts.meta, domain, stream)
    stored = await parts.meta.scan(domain, *entries_after(stream, head.log_start))
    return head, [decode_entry(found.key, found.value) for found in stored]


def new_file(parts: RoundParts, topic: str, partition: int, stream: StreamId) -> tuple[FileId, str]:
    """Name a file that is to be written."""
    file_id = FileId(parts.entropy.token(16))
    day = datetime.fromtimestamp(parts.clock.now_ms() / 1000, UTC).strftime("%Y/%m/%d")
    return file_id, file_path(topic, partition, day, stream, file_id)
