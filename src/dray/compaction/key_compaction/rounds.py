"""Round of key compaction on one topic: a job for each of its streams that needs one.

It follows the `TopicRound` of the same pass, which converts the WAL and finishes unfinished jobs of both
kinds. The job record holds the stream's key compaction state and, from `WRITTEN` on, the state after the
job; the swap into the index makes it current. Everything before that can be repeated.

Files that another engine has changed in the table are not touched: those with deleted rows, and those that
the table no longer references. Their records stay in the stream.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass

import msgspec

from dray.cluster.topics import Topic
from dray.compaction.candidates import read_stream
from dray.compaction.deps import CompactionDeps, new_file, new_job
from dray.compaction.engine import TaskFailure, outputs_of
from dray.compaction.ensure_table import ensure_table
from dray.compaction.job_store import StoredJob
from dray.compaction.key_compaction.plan import KeyCompactionPlan, KeyCompactionPolicy, plan_key_compaction
from dray.compaction.key_compaction.tasks import Filtered, FilterTask, KeyMap, KeyMapTask
from dray.compaction.report import RoundReport
from dray.compaction.skipped import SkippedEnds
from dray.compaction.topic_tables import table_of
from dray.ids import StreamId
from dray.index import JobState, KeyCompactionState, Replaced, keys_path
from dray.log import StreamUnknown
from dray.records.columns import SEED_BYTES


@dataclass(slots=True)
class _Work:
    """The job of one stream and its progress."""

    stream: StreamId
    partition: int
    plan: KeyCompactionPlan
    previous: StoredJob | None
    keys: KeyMap | None = None
    failed: str = ""


class KeyCompactionRound:
    """Compacts the streams of one topic, except those in `excluded`."""

    def __init__(self, deps: CompactionDeps, topic: Topic, excluded: Container[StreamId] = ()) -> None:
        self._deps = deps
        self._topic = topic
        self._ref = topic.ref
        self._policy = KeyCompactionPolicy.of(topic.config)
        self._excluded = excluded
        self._report = RoundReport()
        self.failed: set[StreamId] = set()
        """Streams of which something could not be read or written."""
        self.advanced: set[StreamId] = set()
        """Streams whose state a job has advanced."""

    async def run(self) -> RoundReport:
        """Run the round; raises errors of the table and of the stores."""
        if not self._topic.config.is_compacted:
            return self._report
        found = [
            one
            for partition, stream in enumerate(self._topic.streams)
            if stream not in self._excluded and (one := await self._plan(stream, partition)) is not None
        ]
        if found:
            await self._carry_out(found)
        return self._report

    async def _plan(self, stream: StreamId, partition: int) -> _Work | None:
        previous = await self._deps.jobs.load(stream)
        if previous is not None and previous.job.is_unfinished:
            return None
        try:
            head, entries = await read_stream(self._deps, stream)
        except StreamUnknown:
            return None  # deleted meanwhile
        state = KeyCompactionState() if previous is None else previous.job.key_compaction
        skipped = () if previous is None else previous.job.skipped
        plan = plan_key_compaction(
            head,
            entries,
            state,
            self._policy,
            settings=self._deps.settings,
            now_ms=self._deps.clock.now_ms(),
            skipped=SkippedEnds(skipped),
        )
        return None if plan is None else _Work(stream, partition, plan, previous)

    async def _carry_out(self, found: Sequence[_Work]) -> None:
        await self._exclude_changed_files(found)
        commit_id = self._deps.entropy.token(16).hex()
        begun = [await self._begin(one, commit_id) for one in found]
        await self._write_key_maps(found)
        tasks = [[self._filter_task(one, number) for number in range(_files(one))] for one in found]
        outputs = iter(
            await outputs_of(self._deps.run_tasks, [task for job in tasks for task in job], Filtered)
        )
        await self._deps.publisher.discard([one.keys.path for one in found if one.keys is not None])
        written = []
        for one, begun_job, job in zip(found, begun, tasks, strict=True):
            stored = await self._record_written(one, begun_job, [(task, next(outputs)) for task in job])
            if stored is not None:
                written.append(stored)
        await self._publish(written)
        self.advanced = {stored.stream for stored in written}

    async def _exclude_changed_files(self, found: Sequence[_Work]) -> None:
        await ensure_table(self._deps, self._topic)
        state = await self._deps.tables.current(table_of(self._ref))
        for one in found:
            one.plan = one.plan.excluding({entry.path for entry in one.plan.entries} - state.whole_paths)

    async def _begin(self, one: _Work, commit_id: str) -> StoredJob:
        start, end = one.plan.first_offset, one.plan.done_offset
        job = new_job(self._deps, self._ref, one.partition, start, end, commit_id=commit_id)
        return await self._deps.jobs.begin(one.stream, job, one.previous)

    async def _write_key_maps(self, found: Sequence[_Work]) -> None:
        """Write the key maps of streams that have dirty records and files to filter."""
        dirty = [one for one in found if one.plan.dirty and one.plan.entries]
        if not dirty:
            return
        tasks = [self._key_map_task(one) for one in dirty]
        outputs = await outputs_of(self._deps.run_tasks, tasks, KeyMap)
        for one, output in zip(dirty, outputs, strict=True):
            if isinstance(output, TaskFailure):
                one.failed = output.reason
            else:
                one.keys = output

    def _key_map_task(self, one: _Work) -> KeyMapTask:
        plan = one.plan
        file_id, path = new_file(self._deps, self._topic.name, one.partition, one.stream)
        seed = self._deps.entropy.token(SEED_BYTES)
        return KeyMapTask(
            one.stream, plan.dirty, plan.dirty_start, plan.dirty_end, seed, file_id, keys_path(path)
        )

    def _filter_task(self, one: _Work, number: int) -> FilterTask:
        plan = one.plan
        file_id, path = new_file(self._deps, self._topic.name, one.partition, one.stream)
        return FilterTask(
            stream=one.stream,
            partition=one.partition,
            entry=plan.entries[number],
            first_offset=plan.first_offset,
            dirty_start=plan.dirty_start,
            dirty_end=plan.dirty_end,
            expired=plan.expired,
            keys=one.keys,
            file_id=file_id,
            path=path,
        )

    async def _record_written(
        self, one: _Work, stored: StoredJob, done: Sequence[tuple[FilterTask, Filtered | TaskFailure]]
    ) -> StoredJob | None:
        """Store which files were written; if any task has failed, the job is aborted as a whole."""
        failed = [one.failed] if one.failed else []
        failed += [output.reason for _, output in done if isinstance(output, TaskFailure)]
        if failed:
            self.failed.add(one.stream)
            self._report.add_failures(stored.job, failed)
            ended = msgspec.structs.replace(stored.job, changed_at_ms=self._deps.clock.now_ms())
            await self._deps.jobs.abort(stored, ended, "; ".join(failed))
            return None
        filtered = [(task.entry, output) for task, output in done if isinstance(output, Filtered)]
        changed = [(old, output.rewritten.file) for old, output in filtered if output.rewritten is not None]
        self._report.dropped += sum(old.record_count - new.record_count for old, new in changed)
        job = msgspec.structs.replace(
            stored.job,
            state=JobState.WRITTEN,
            changed_at_ms=self._deps.clock.now_ms(),
            files=tuple(new for _, new in changed),
            replaced=tuple(Replaced(old.file_id, old.path) for old, _ in changed),
            key_compaction_after=one.plan.state_after(
                sum(output.tombstones for _, output in filtered), self._policy
            ),
        )
        return await self._deps.jobs.update(stored, job)

    async def _publish(self, written: Sequence[StoredJob]) -> None:
        self._report.add_published(await self._deps.publisher.publish(self._ref, written))


def _files(one: _Work) -> int:
    return 0 if one.failed else len(one.plan.entries)
