"""The second half of a compaction: files that are written become part of the table, then of the index.

The table comes first. Should the process die in between, the table has rows that the index still names in the
WAL: the same rows, so nobody sees a difference. The other way round, a merge would leave the table with files
that the sweep may delete.

Every step looks before it acts, so all of it may be done again by anybody, from the jobs' records alone.
"""

from collections.abc import Sequence

import msgspec

from dray.ids import TopicRef
from dray.index import CompactionJob, FilePlace, JobState
from dray.log.swap import Swapper
from dray.objects.port import ByteRange, ObjectStore
from dray.pipeline.job_store import JobLost, JobStore, StoredJob
from dray.runtime import Clock
from dray.tables.port import DataFile, FilesGone, Tables, TopicTable
from dray.tables.port import Job as TableJob


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
            await self._commit(topic, waiting)
        except FilesGone as error:
            return [await self._give_up(stored, str(error)) for stored in waiting]
        tabled += [await self._jobs.change(stored, self._in(stored, JobState.TABLED)) for stored in waiting]
        return [await self._swap(topic, stored) for stored in tabled]

    async def _commit(self, topic: TopicRef, waiting: Sequence[StoredJob]) -> None:
        if not waiting:
            return
        added = [file for stored in waiting for file in await self._data_files(stored.job)]
        removed = [old.path for stored in waiting for old in stored.job.replaced]
        marks = {stored.job.partition: stored.job.end_offset for stored in waiting}
        job = TableJob(waiting[0].job.commit_id, marks)
        if removed:
            await self._tables.replace(table_of(topic), removed, added, job)
        elif added:
            await self._tables.append(table_of(topic), added, job)

    async def _data_files(self, job: CompactionJob) -> list[DataFile]:
        """Describe the job's files to the table; one without rows has no place there."""
        return [
            DataFile(
                path=file.path,
                size_bytes=file.size_bytes,
                records=file.record_count,
                partition=job.partition,
                first_offset=file.start_offset,
                last_offset=file.end_offset - 1,
                footer=await self._footer(file),
            )
            for file in job.files
            if file.record_count
        ]

    async def _footer(self, file: FilePlace) -> bytes:
        at = ByteRange(file.size_bytes - file.footer_bytes, file.footer_bytes)
        (tail,) = await self._objects.get_ranges(file.path, [at])
        return bytes(tail)

    async def _swap(self, topic: TopicRef, stored: StoredJob) -> StoredJob:
        swapper = self._swappers[self._jobs.domain(stored.stream)]
        done = self._in(stored, JobState.DONE)
        if not await swapper.swap(stored.stream, stored.job.files, topic, self._jobs.step(stored, done)):
            raise JobLost(f"the job of stream {stored.stream:016x} was done by another compactor")
        return StoredJob(stored.stream, done, stored.version)

    async def _give_up(self, stored: StoredJob, why: str) -> StoredJob:
        """End a job whose files nobody has seen; the sweep finds them."""
        return await self._jobs.change(
            stored, msgspec.structs.replace(self._in(stored, JobState.DONE), outcome=why)
        )

    def _in(self, stored: StoredJob, state: JobState) -> CompactionJob:
        return msgspec.structs.replace(stored.job, state=state, changed_at_ms=self._clock.now_ms())


def table_of(topic: TopicRef) -> TopicTable:
    return TopicTable(topic.name, topic.topic_id.hex())
