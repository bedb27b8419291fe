"""Round of a topic: finish the jobs that an earlier round left, then plan new jobs and carry them out.

    created ─▶ written ─▶ published ─▶ done        for every stream that has work

The jobs of all streams of a topic advance together, so a round is one Spark job and one commit to the table
per kind of work. A range that cannot be read or written does not affect the stream's other ranges or the
other streams: a job continues with the files that were written. WAL entries that cannot be converted are
listed in the job record, and the ranges around them are planned again in the same round. If the table commit
fails, the jobs keep their state for the next round. Producers and consumers are not affected by any of this.

At most one compactor works on a topic, by lease. Should two believe that they hold it, each step checks the
job record, and one of them gets `JobLost`.
"""

import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence, Set
from dataclasses import dataclass

import msgspec

from dray.cluster.topics import Topic
from dray.compaction.candidates import CandidateFinder, Candidates, CompactorState
from dray.compaction.deps import CompactionDeps, new_file, new_job
from dray.compaction.engine import TaskFailure, outputs_of
from dray.compaction.ensure_table import ensure_table
from dray.compaction.job_store import StoredJob
from dray.compaction.plan import FilePlan
from dray.compaction.report import RoundReport
from dray.compaction.rewrite import RewriteOutput, RewriteTask, Rewritten, Unconvertible
from dray.compaction.skipped import UnconvertibleEntry, skipped_records, still_skipped, with_skipped
from dray.ids import StreamId
from dray.index import (
    CompactionJob,
    FileRef,
    IndexEntry,
    JobState,
    ParquetEntry,
    Replaced,
    SkippedRange,
    WalEntry,
    rewound,
)
from dray.log import StreamUnknown

CandidatesOf = Callable[[StreamId, CompactionJob | None, Set[int]], Awaitable[Candidates]]


@dataclass(frozen=True, slots=True)
class _JobPlan:
    """The files to write for one stream, and its previous job."""

    stream: StreamId
    partition: int
    files: Sequence[FilePlan]
    previous: StoredJob | None


class TopicRound:
    """A round over the streams of one topic."""

    def __init__(self, deps: CompactionDeps, topic: Topic, state: CompactorState | None = None) -> None:
        """`state` has the backoff of streams that failed recently; without it every stream is planned."""
        self._deps = deps
        self._topic = topic
        self._state = CompactorState.of(deps) if state is None else state
        self._candidates = CandidateFinder(deps, topic, self._state)
        self._ref = topic.ref
        self._report = RoundReport()
        self._skipped: dict[StreamId, tuple[SkippedRange, ...]] = {}
        """The skipped ranges of each stream, as last seen in its job record."""
        self._failed: defaultdict[StreamId, set[int]] = defaultdict(set)
        """The end offsets of the entries of each stream that this round could not convert."""

    async def run(self) -> RoundReport:
        """Run the round; raises errors of the table and of the stores."""
        await self.finish()
        if await self._compact(self._candidates.wal_ranges):
            await self._compact(self._candidates.wal_ranges)  # around the entries that cannot be converted
        await self._compact(self._candidates.merges)  # even if the WAL had work: it always may
        self._report.skipped_records = sum(map(skipped_records, self._skipped.values()))
        return self._report

    async def finish(self) -> RoundReport:
        """Finish the jobs of an earlier round; this writes no files."""
        await self._finish(job for _, job in await self._jobs() if job is not None)
        return self._report

    async def _jobs(self) -> list[tuple[StreamId, StoredJob | None]]:
        found = [(stream, await self._deps.jobs.load(stream)) for stream in self._topic.streams]
        self._skipped = {stream: stored.job.skipped for stream, stored in found if stored is not None}
        return found

    async def _finish(self, jobs: Iterable[StoredJob]) -> None:
        """Publish jobs that have written files; those in state `CREATED` are planned again."""
        by_commit: dict[str, list[StoredJob]] = {}
        for stored in jobs:
            if stored.job.is_unfinished:
                by_commit.setdefault(stored.job.commit_id, []).append(stored)
        for together in by_commit.values():
            await self._publish(together)

    # Plan

    async def _compact(self, candidates_of: CandidatesOf) -> bool:
        """Plan and carry out one kind of work; returns whether planned entries turned out unconvertible."""
        plans = [
            found
            for partition, (stream, previous) in enumerate(await self._jobs())
            if (found := await self._plan(candidates_of, stream, partition, previous)) is not None
        ]
        return bool(plans) and await self._carry_out(plans)

    async def _plan(
        self, candidates_of: CandidatesOf, stream: StreamId, partition: int, previous: StoredJob | None
    ) -> _JobPlan | None:
        if self._state.backoff.is_backing_off(stream):
            return None
        try:
            candidates = await candidates_of(
                stream, None if previous is None else previous.job, self._failed[stream]
            )
        except StreamUnknown:
            return None  # deleted meanwhile
        if previous is not None and candidates.entries is not None:
            previous = await self._forget_converted(previous, candidates.entries)
        return _JobPlan(stream, partition, candidates.plans, previous) if candidates.plans else None

    async def _forget_converted(self, stored: StoredJob, entries: Sequence[IndexEntry]) -> StoredJob:
        """Remove ranges that have left the WAL from the job record's skipped ranges."""
        skipped = self._skipped[stored.stream] = still_skipped(stored.job.skipped, entries)
        if skipped == stored.job.skipped or stored.job.is_unfinished:
            return stored
        return await self._deps.jobs.update(stored, msgspec.structs.replace(stored.job, skipped=skipped))

    # Carry out

    async def _carry_out(self, plans: Sequence[_JobPlan]) -> bool:
        await ensure_table(self._deps, self._topic)
        commit_id = self._deps.entropy.token(16).hex()
        begun = [await self._begin(plan, commit_id) for plan in plans]
        tasks = [[self._task(plan, file) for file in plan.files] for plan in plans]
        outputs = iter(
            await outputs_of(self._deps.run_tasks, [task for job in tasks for task in job], RewriteOutput)
        )
        outcomes = [_Outcome.of([(task, next(outputs)) for task in job]) for job in tasks]
        written = []
        for job, outcome in zip(begun, outcomes, strict=True):
            stored = await self._record_written(job, outcome)
            if stored is not None:
                written.append(stored)
        await self._publish(written)
        return any(outcome.skipped for outcome in outcomes)

    async def _begin(self, plan: _JobPlan, commit_id: str) -> StoredJob:
        start, end = plan.files[0].start_offset, plan.files[-1].end_offset
        job = new_job(self._deps, self._ref, plan.partition, start, end, commit_id=commit_id)
        return await self._deps.jobs.begin(plan.stream, job, plan.previous)

    def _task(self, plan: _JobPlan, file: FilePlan) -> RewriteTask:
        file_id, path = new_file(self._deps, self._topic.name, plan.partition, plan.stream)
        return RewriteTask(plan.stream, plan.partition, file.entries, file.first_offset, file_id, path)

    async def _record_written(self, stored: StoredJob, outcome: "_Outcome") -> StoredJob | None:
        """Store which files were written and what was skipped; returns None if no file was written."""
        now_ms = self._deps.clock.now_ms()
        self._report.add_failures(stored.job, outcome.failed)
        if outcome.skipped:
            self._state.skipped.add(stored.stream, outcome.skipped)
            self._failed[stored.stream].update(one.end_offset for one in outcome.skipped)
            self._report.add_skipped(stored.job, outcome.skipped)
        skipped = self._skipped[stored.stream] = with_skipped(stored.job.skipped, outcome.skipped, now_ms)
        job = msgspec.structs.replace(stored.job, changed_at_ms=now_ms, skipped=skipped)
        if not outcome.files:
            await self._deps.jobs.abort(stored, job, "; ".join(outcome.failed))
            return None
        rewound_state = rewound(job.key_compaction, outcome.wal_start)
        written = msgspec.structs.replace(
            job,
            state=JobState.WRITTEN,
            files=outcome.files,
            replaced=outcome.replaced,
            key_compaction_after=rewound_state if rewound_state != job.key_compaction else None,
        )
        return await self._deps.jobs.update(stored, written)

    async def _publish(self, written: Sequence[StoredJob]) -> None:
        self._report.add_published(await self._deps.publisher.publish(self._ref, written))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Outcome of the tasks of one job."""

    files: tuple[FileRef, ...]
    replaced: tuple[Replaced, ...]
    """Files of the table that the new files replace."""
    wal_start: int
    """Start of the first range that was in the WAL; higher than any offset if there was none."""
    skipped: tuple[UnconvertibleEntry, ...]
    failed: tuple[str, ...]

    @classmethod
    def of(cls, done: Sequence[tuple[RewriteTask, RewriteOutput | TaskFailure]]) -> "_Outcome":
        written = [(task, output.file) for task, output in done if isinstance(output, Rewritten)]
        sources = [entry for task, _ in written for entry in task.entries]
        return cls(
            tuple(file for _, file in written),
            tuple(
                Replaced(entry.file_id, entry.path)
                for entry in sources
                if isinstance(entry, ParquetEntry) and entry.record_count
            ),
            min((one.start_offset for one in sources if isinstance(one, WalEntry)), default=sys.maxsize),
            tuple(one for _, output in done if isinstance(output, Unconvertible) for one in output.entries),
            tuple(output.reason for _, output in done if isinstance(output, TaskFailure)),
        )
