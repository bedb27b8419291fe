"""Publication of a job's files: a commit to the table, then the swap into the index.

The table comes first. If the process dies in between, the table holds rows that the index still finds in the
WAL: the same rows, so no reader sees a difference. In the opposite order, a merge could leave the table with
files that the sweep is free to delete.

Every step checks before it acts, so any compactor can repeat all of them from the job records alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from dray.compaction.job_store import JobLost, JobStore, StoredJob
from dray.compaction.topic_tables import data_file, table_of
from dray.formats.parquet_v1 import CorruptParquet
from dray.ids import TopicRef
from dray.index import CompactionJob, JobState
from dray.log.swap import Swapper
from dray.objects.port import NotFound, ObjectError, ObjectStore
from dray.runtime import Clock
from dray.tables.port import Committed, DataFile, FilesMissing, Mark, SnapshotChanged, Tables, TopicTable
from dray.tables.port import Job as TableJob

_ATTEMPTS_MAX: Final = 5
_NOT_IN_COMMIT: Final = "not part of the table commit; the range is planned again"


class Publisher:
    """Takes jobs from `WRITTEN` to `DONE`."""

    def __init__(
        self, jobs: JobStore, tables: Tables, objects: ObjectStore, clock: Clock, swappers: Sequence[Swapper]
    ) -> None:
        self._jobs = jobs
        self._tables = tables
        self._objects = objects
        self._clock = clock
        self._swappers = swappers

    async def publish(self, topic: TopicRef, written: Sequence[StoredJob]) -> list[StoredJob]:
        """Publish the files of jobs that share a table commit; returns the jobs as done or aborted."""
        waiting = [stored for stored in written if stored.job.state is JobState.WRITTEN]
        published = [stored for stored in written if stored.job.state is JobState.PUBLISHED]
        try:
            done = await self._commit(topic, waiting)
        except FilesMissing as error:
            return [await self._abort(stored, str(error)) for stored in waiting]
        except (NotFound, CorruptParquet) as error:
            # A file was damaged before its first read. If the table has it already, an operator must
            # investigate.
            if await self._tables.find_job(table_of(topic), _table_job(waiting)) is not None:
                raise
            return [await self._abort(stored, str(error)) for stored in waiting]
        missing = (
            await self._missing_from_commit(topic, waiting) if done is not None and done.repeated else []
        )
        aborted = [await self._abort(stored, _NOT_IN_COMMIT) for stored in missing]
        included = [stored for stored in waiting if stored not in missing]
        published += [
            await self._jobs.update(stored, self._with_state(stored, JobState.PUBLISHED))
            for stored in included
        ]
        return [*aborted, *[await self._swap(topic, stored) for stored in published]]

    async def discard(self, paths: Iterable[str]) -> None:
        """Delete temporary objects of a job; the sweep finds those that cannot be deleted now."""
        for path in paths:
            with suppress(ObjectError):
                await self._objects.delete(path)

    async def _commit(self, topic: TopicRef, waiting: Sequence[StoredJob]) -> Committed | None:
        """Commit to the table; returns None if there is nothing to commit."""
        if not waiting:
            return None
        added = [file for stored in waiting for file in await self._data_files(stored.job)]
        removed = [old.path for stored in waiting for old in stored.job.replaced]
        if not added and not removed:
            return None
        table, job = table_of(topic), _table_job(waiting)
        for _ in range(_ATTEMPTS_MAX - 1):
            with suppress(SnapshotChanged):
                return await self._commit_once(table, removed, added, job, waiting)
        return await self._commit_once(table, removed, added, job, waiting)

    async def _commit_once(
        self,
        table: TopicTable,
        removed: Sequence[str],
        added: Sequence[DataFile],
        job: TableJob,
        waiting: Sequence[StoredJob],
    ) -> Committed:
        """Commit on top of the snapshot that was current before the jobs were confirmed.

        Without that order, a compactor that stalls between the two could repeat a commit that another one has
        made, and whose snapshot has expired since.
        """
        snapshot_id = await self._tables.snapshot_id(table)
        for stored in waiting:
            await self._jobs.confirm(stored)
        if removed:
            return await self._tables.replace(table, removed, added, job, snapshot_id)
        return await self._tables.append(table, added, job, snapshot_id)

    async def _missing_from_commit(self, topic: TopicRef, waiting: Sequence[StoredJob]) -> list[StoredJob]:
        """Return the jobs that are not part of the earlier table commit with their commit id.

        Two compactors may have worked on these jobs. If one reached the commit before the other had stored
        all that it had written, the commit does not include the rest.
        """
        marks = (await self._tables.current(table_of(topic))).marks
        return [stored for stored in waiting if not _is_part(stored.job, marks)]

    async def _data_files(self, job: CompactionJob) -> list[DataFile]:
        """Describe the job's files to the table, which does not get files without rows."""
        return [
            await data_file(self._objects, job.partition, file) for file in job.files if file.record_count
        ]

    async def _swap(self, topic: TopicRef, stored: StoredJob) -> StoredJob:
        job = self._with_state(stored, JobState.DONE)
        done = msgspec.structs.replace(
            job, key_compaction=job.key_compaction_after or job.key_compaction, key_compaction_after=None
        )
        if not done.files:
            return await self._jobs.update(stored, done)  # a key compaction that removed nothing
        swapper = self._swappers[self._jobs.domain(stored.stream)]
        update = self._jobs.update_in_commit(stored, done)
        if not await swapper.swap(stored.stream, stored.job.files, topic, update):
            raise JobLost(f"the job of stream {stored.stream:016x} was done by another compactor")
        return StoredJob(stored.stream, done, stored.version)

    async def _abort(self, stored: StoredJob, reason: str) -> StoredJob:
        """End a job without publishing its files; they become orphans for the sweep."""
        ended = msgspec.structs.replace(
            self._with_state(stored, JobState.DONE), outcome=reason, key_compaction_after=None
        )
        return await self._jobs.update(stored, ended)

    def _with_state(self, stored: StoredJob, state: JobState) -> CompactionJob:
        return msgspec.structs.replace(stored.job, state=state, changed_at_ms=self._clock.now_ms())


def _table_job(jobs: Sequence[StoredJob]) -> TableJob:
    marks = {stored.job.partition: stored.job.end_offset for stored in jobs}
    return TableJob(jobs[0].job.commit_id, marks)


def _is_part(job: CompactionJob, marks: Mapping[int, Mark]) -> bool:
    mark = marks.get(job.partition)
    has_rows = bool(job.replaced) or any(file.record_count for file in job.files)
    return not has_rows or (mark is not None and mark.job_id == job.commit_id)
