"""Job records in the metadata store: one per stream, in the stream's domain, updated by compare-and-swap."""

from dataclasses import dataclass

import msgspec

from dray.ids import Domain, MetaDomain, StreamId, meta_domain
from dray.index import CompactionJob, JobState, decode_job, encode_job
from dray.keyspace import job_key, log_domain
from dray.meta.port import ABSENT, Check, Conflict, MetaStore, Put, Version


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A stream's job record as it was read or written, with its version."""

    stream: StreamId
    job: CompactionJob
    version: Version


class JobLost(Exception):
    """Another compactor has changed the job: the caller must stop working on it."""


class JobStore:
    """Reads and writes job records."""

    def __init__(self, meta: MetaStore, domains: int) -> None:
        self._meta = meta
        self._domains = domains

    def domain(self, stream: StreamId) -> MetaDomain:
        return meta_domain(stream, self._domains)

    def store_domain(self, stream: StreamId) -> Domain:
        return log_domain(self.domain(stream))

    async def load(self, stream: StreamId) -> StoredJob | None:
        """Return the stream's latest job, which may be done, or None if it never had one."""
        key = job_key(stream)
        stored = await self._meta.get(self.store_domain(stream), key)
        return None if stored is None else StoredJob(stream, decode_job(key, stored.value), stored.version)

    async def confirm(self, stored: StoredJob) -> None:
        """Raise `JobLost` if the job was changed since it was read."""
        found = await self.load(stored.stream)
        if found is None or found.version != stored.version:
            raise JobLost(f"the job of stream {stored.stream:016x} was changed by another compactor")

    async def begin(self, stream: StreamId, job: CompactionJob, previous: StoredJob | None) -> StoredJob:
        """Replace the previous job, whose key compaction state and skipped ranges carry over.

        Raises `JobLost` if the previous job is unfinished or was changed meanwhile.
        """
        if previous is None:
            return await self._put(stream, job, ABSENT)
        if previous.job.is_unfinished:
            # Its rows may be on their way into the table: it must be finished, not replaced.
            raise JobLost(f"the job of stream {stream:016x} is being finished by another compactor")
        begun = msgspec.structs.replace(
            job, key_compaction=previous.job.key_compaction, skipped=previous.job.skipped
        )
        return await self._put(stream, begun, previous.version)

    async def update(self, stored: StoredJob, job: CompactionJob) -> StoredJob:
        """Write the job's next state; raises `JobLost`."""
        return await self._put(stored.stream, job, stored.version)

    async def abort(self, stored: StoredJob, job: CompactionJob, reason: str) -> None:
        """End a job that has written no file; raises `JobLost`."""
        await self.update(stored, msgspec.structs.replace(job, state=JobState.DONE, outcome=reason))

    def update_in_commit(self, stored: StoredJob, job: CompactionJob) -> tuple[Check, Put]:
        """Return the update as a check and a write, for a commit that makes other changes as well."""
        key = job_key(stored.stream)
        return Check(key, stored.version), Put(key, encode_job(job))

    async def _put(self, stream: StreamId, job: CompactionJob, version: Version) -> StoredJob:
        key = job_key(stream)
        made = await self._meta.commit(
            self.store_domain(stream), [Check(key, version)], [Put(key, encode_job(job))]
        )
        if isinstance(made, Conflict):
            raise JobLost(f"the job of stream {stream:016x} was changed by another compactor")
        return StoredJob(stream, job, made.of[0])
