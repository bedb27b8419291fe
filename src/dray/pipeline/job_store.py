"""The jobs' records in the metadata store: each beside its stream, changed only as it was last read."""

from dataclasses import dataclass

import msgspec

from dray.ids import MetaDomain, StreamId, meta_domain
from dray.index import CompactionJob, JobState, decode_job, domain_name, encode_job, job_key
from dray.meta.port import ABSENT, Check, Conflict, Domain, MetaStore, Put, Version


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A stream's job as it was read or written."""

    stream: StreamId
    job: CompactionJob
    version: Version


class JobLost(Exception):
    """Somebody else has changed the job: whoever finds this out lets go of it."""


class JobStore:
    """Reads and writes jobs."""

    def __init__(self, meta: MetaStore, domains: int) -> None:
        self._meta = meta
        self._domains = domains

    def domain(self, stream: StreamId) -> MetaDomain:
        return meta_domain(stream, self._domains)

    def store_domain(self, stream: StreamId) -> Domain:
        return Domain(domain_name(self.domain(stream)))

    async def load(self, stream: StreamId) -> StoredJob | None:
        """Return the stream's job, which may be done, or None if it never had one."""
        key = job_key(stream)
        stored = await self._meta.get(self.store_domain(stream), key)
        return None if stored is None else StoredJob(stream, decode_job(key, stored.value), stored.version)

    async def confirm(self, stored: StoredJob) -> None:
        """Make sure that nobody has taken the job on since it was read; raises `JobLost`."""
        found = await self.load(stored.stream)
        if found is None or found.version != stored.version:
            raise JobLost(f"the job of stream {stored.stream:016x} was changed by another compactor")

    async def begin(self, stream: StreamId, job: CompactionJob, before: StoredJob | None) -> StoredJob:
        """Put a job in the place of the one before, whose word on cleaning it hands on; raises `JobLost`."""
        if before is None:
            return await self._put(stream, job, ABSENT)
        if before.job.is_unfinished:
            # Its rows may be on their way into the table: it is to be taken to its end, not replaced.
            raise JobLost(f"the job of stream {stream:016x} is another compactor's, which goes on with it")
        return await self._put(
            stream, msgspec.structs.replace(job, cleaned=before.job.cleaned), before.version
        )

    async def change(self, stored: StoredJob, job: CompactionJob) -> StoredJob:
        """Take the job one step on; raises `JobLost`."""
        return await self._put(stored.stream, job, stored.version)

    async def end(self, stored: StoredJob, now_ms: int, why: str) -> None:
        """Give the job up; raises `JobLost`."""
        ended = msgspec.structs.replace(stored.job, state=JobState.DONE, changed_at_ms=now_ms, outcome=why)
        await self.change(stored, ended)

    def step(self, stored: StoredJob, job: CompactionJob) -> tuple[Check, Put]:
        """Return that step as a part of somebody's commit."""
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
