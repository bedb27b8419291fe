"""The second half of a compaction: files that are written become part of the table, then of the index.

The table comes first. Should the process die in between, the table has rows that the index still names in the
WAL: the same rows, so nobody sees a difference. The other way round, a merge would leave the table with files
that the sweep may delete.

Every step looks before it acts, so all of it may be done again by anybody, from the jobs' records alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from dray.formats.parquet_v1 import CorruptParquet
from dray.ids import TopicRef
from dray.index import CompactionJob, JobState
from dray.log.swap import Swapper
from dray.objects.port import NotFound, ObjectError, ObjectStore
from dray.pipeline.job_store import JobLost, JobStore, StoredJob
from dray.pipeline.topic_tables import data_file, table_of
from dray.runtime import Clock
from dray.tables.port import Committed, DataFile, FilesGone, Mark, Moved, Tables, TopicTable
from dray.tables.port import Job as TableJob

_TRIES_MAX: Final = 5
_LEFT_OUT: Final = "the table's commit went without it; it is planned anew"


class Publisher:
    """Takes written jobs to their end."""

    def __init__(
        self, jobs: JobStore, tables: Tables, objects: ObjectStore, clock: Clock, swappers: Sequence[Swapper]
    ) -> None:
        self._jobs = jobs
        self._tables = tables
        self._objects = objects
        self._clock = clock
        self._swappers = swappers

    async def publish(self, topic: TopicRef, written: Sequence[StoredJob]) -> list[StoredJob]:
        """Put the files of jobs that share a commit into table and index; returns the jobs as done."""
        waiting = [stored for stored in written if stored.job.state is JobState.WRITTEN]
        tabled = [stored for stored in written if stored.job.state is JobState.TABLED]
        try:
            done = await self._commit(topic, waiting)
        except FilesGone as error:
            return [await self._give_up(stored, str(error)) for stored in waiting]
        except (NotFound, CorruptParquet) as error:
            # A file is damaged before anybody has read it. If the table has it, a person must look.
            if await self._tables.find_job(table_of(topic), _table_job(waiting)) is not None:
                raise
            return [await self._give_up(stored, str(error)) for stored in waiting]
        left_out = await self._left_out(topic, waiting) if done is not None and done.repeated else []
        given_up = [await self._give_up(stored, _LEFT_OUT) for stored in left_out]
        included = [stored for stored in waiting if stored not in left_out]
        tabled += [await self._jobs.change(stored, self._in(stored, JobState.TABLED)) for stored in included]
        return [*given_up, *[await self._swap(topic, stored) for stored in tabled]]

    async def discard(self, paths: Iterable[str]) -> None:
        """Delete objects that were written for the time of a job; what cannot be deleted the sweep finds."""
        for path in paths:
            with suppress(ObjectError):
                await self._objects.delete(path)

    async def _commit(self, topic: TopicRef, waiting: Sequence[StoredJob]) -> Committed | None:
        """Commit to the table; None if there is nothing to commit."""
        if not waiting:
            return None
        added = [file for stored in waiting for file in await self._data_files(stored.job)]
        removed = [old.path for stored in waiting for old in stored.job.replaced]
        if not added and not removed:
            return None
        table, job = table_of(topic), _table_job(waiting)
        for _ in range(_TRIES_MAX - 1):
            with suppress(Moved):
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
        """Commit what is still ours to commit onto what the table was before we made sure of that.

        Otherwise one who has slept might do what others have done, merged and forgotten since.
        """
        onto = await self._tables.snapshot_id(table)
        for stored in waiting:
            await self._jobs.confirm(stored)
        if removed:
            return await self._tables.replace(table, removed, added, job, onto)
        return await self._tables.append(table, added, job, onto)

    async def _left_out(self, topic: TopicRef, waiting: Sequence[StoredJob]) -> list[StoredJob]:
        """Find jobs that were not part of a commit that has been done before under their name.

        Two compactors may have been at these jobs. If one came to the commit while the other had not yet
        noted all that it had written, the commit went without the rest.
        """
        marks = (await self._tables.current(table_of(topic))).marks
        return [stored for stored in waiting if not _is_part(stored.job, marks)]

    async def _data_files(self, job: CompactionJob) -> list[DataFile]:
        """Describe the job's files to the table; one without rows has no place there."""
        return [
            await data_file(self._objects, job.partition, file) for file in job.files if file.record_count
        ]

    async def _swap(self, topic: TopicRef, stored: StoredJob) -> StoredJob:
        job = self._in(stored, JobState.DONE)
        done = msgspec.structs.replace(job, cleaned=job.cleaned_then or job.cleaned, cleaned_then=None)
        if not done.files:
            return await self._jobs.change(stored, done)  # it cleaned, and everything could stay
        swapper = self._swappers[self._jobs.domain(stored.stream)]
        if not await swapper.swap(stored.stream, stored.job.files, topic, self._jobs.step(stored, done)):
            raise JobLost(f"the job of stream {stored.stream:016x} was done by another compactor")
        return StoredJob(stored.stream, done, stored.version)

    async def _give_up(self, stored: StoredJob, why: str) -> StoredJob:
        """End a job whose files nobody has seen; the sweep finds them."""
        ended = msgspec.structs.replace(self._in(stored, JobState.DONE), outcome=why, cleaned_then=None)
        return await self._jobs.change(stored, ended)

    def _in(self, stored: StoredJob, state: JobState) -> CompactionJob:
        return msgspec.structs.replace(stored.job, state=state, changed_at_ms=self._clock.now_ms())


def _table_job(jobs: Sequence[StoredJob]) -> TableJob:
    marks = {stored.job.partition: stored.job.end_offset for stored in jobs}
    return TableJob(jobs[0].job.commit_id, marks)


def _is_part(job: CompactionJob, marks: Mapping[int, Mark]) -> bool:
    mark = marks.get(job.partition)
    has_rows = bool(job.replaced) or any(file.record_count for file in job.files)
    return not has_rows or (mark is not None and mark.job_id == job.commit_id)
