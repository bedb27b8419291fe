"""Deletes Parquet files that neither the index nor the table names.

*Given up*: marked by whoever removed the index entry, and out of the table, and the grace is over for those
who still read from an older index or snapshot. A table may name a file again that it had given up, so a
compactor must have asked it since (`dray.index.asked`).

*Strays*: in the bucket, old, and in no record. They come from workers that died, or that wrote what another
attempt had already written. A file is named first by its stream's job, then by its own record, then by its
mark, and each step is one commit: who looks in this order and finds nothing knows that nobody will name it.
A job that has written nothing down for as long is ended first; its compactor, should it live, learns that it
has lost the job before it can name a file.

Each step can be repeated and may be done by several processes at once.
"""

from collections.abc import AsyncIterator
from functools import partial
from typing import Final

import msgspec

from dray.ids import FileId, MetaDomain, StreamId, meta_domain
from dray.index import (
    FILES_PREFIX,
    CompactionJob,
    CorruptValue,
    FileGcMarker,
    JobState,
    decode_file_gc,
    decode_job,
    domain_name,
    encode_job,
    file_gc_key,
    file_gc_range,
    file_key,
    job_key,
    parse_file_path,
)
from dray.index.asked import Asked, asked_key, decode_asked
from dray.meta.port import Check, Conflict, Delete, Domain, Entry, MetaStore, Put
from dray.meta.scans import scan_all
from dray.objects.port import ObjectError, ObjectStore
from dray.observe import get_logger
from dray.runtime import Clock
from dray.sweep.doomed import Doomed, Why

_FORGOTTEN: Final = "nobody went on with it"
_log = get_logger("sweep")


class FileSweep:
    """Sweeps the Parquet files of one domain's streams; one that makes trouble is told of and left."""

    def __init__(
        self,
        meta: MetaStore,
        objects: ObjectStore,
        domain: MetaDomain,
        *,
        domains: int,
        clock: Clock,
        orphan_ttl_ms: int,
    ) -> None:
        self._meta = meta
        self._objects = objects
        self._domain = domain
        self._domains = domains
        self._store_domain = Domain(domain_name(domain))
        self._clock = clock
        self._orphan_ttl_ms = orphan_ttl_ms

    async def run(self) -> int:
        """Delete what was given up; returns how many files."""
        return await self._delete_all(self.plan())

    async def run_strays(self) -> int:
        """Delete strays: lists all files, so it is for once in a while."""
        return await self._delete_all(self.plan_strays())

    async def plan(self) -> AsyncIterator[Doomed]:
        """Say what `run` deletes."""
        async for found, mark, may_go in self._given_up():
            if may_go:
                yield Doomed(mark.path, Why.GIVEN_UP, partial(self._collect, mark.path, found))

    async def waiting(self) -> AsyncIterator[str]:
        """Say which files wait for a compactor: to take them out of the table, or to ask it once more."""
        async for _, mark, may_go in self._given_up():
            if not may_go:
                yield mark.path

    async def plan_strays(self) -> AsyncIterator[Doomed]:
        """Say what `run_strays` deletes."""
        oldest_ms = self._clock.now_ms() - self._orphan_ttl_ms
        async for info in self._objects.list(FILES_PREFIX):
            parsed = parse_file_path(info.path)
            if info.modified_ms > oldest_ms or parsed is None:
                continue
            if meta_domain(parsed[0], self._domains) != self._domain:
                continue
            try:
                named = await self._is_named(*parsed)
            except CorruptValue as error:
                _log.warning("file_not_swept", path=info.path, error=str(error))
                continue
            if not named:
                yield Doomed(info.path, Why.STRAY, partial(self._delete_stray, info.path, *parsed))

    async def _given_up(self) -> AsyncIterator[tuple[Entry, FileGcMarker, bool]]:
        """Go through marks whose grace is over, or has not begun as the table still names the file; each with
        whether that may go."""
        # Read before the marks: whoever wrote it had held back marks first, and those are seen here.
        asked = await self._asked()
        async for found in scan_all(self._meta, self._store_domain, file_gc_range(self._domain)):
            try:
                mark = decode_file_gc(found.key, found.value)
            except CorruptValue as error:
                _log.warning("file_not_swept", domain=self._domain, error=str(error))
                continue
            now_ms = self._clock.now_ms()
            if mark.in_table:
                yield found, mark, False
            elif mark.delete_after_ms <= now_ms:
                yield found, mark, asked is None or asked.allows(mark, now_ms)

    async def _delete_all(self, plan: AsyncIterator[Doomed]) -> int:
        deleted = 0
        async for doomed in plan:
            try:
                deleted += await doomed.delete()
            except (CorruptValue, ObjectError) as error:
                _log.warning("file_not_swept", path=doomed.path, error=str(error))
        return deleted

    async def _asked(self) -> Asked | None:
        """When tables were asked; None where there never was a compactor. What is damaged allows nothing."""
        key = asked_key(self._domain)
        stored = await self._meta.get(self._store_domain, key)
        try:
            return None if stored is None else decode_asked(key, stored.value)
        except CorruptValue as error:
            _log.warning("files_not_swept", domain=self._domain, error=str(error))
            return Asked()

    async def _collect(self, path: str, found: Entry) -> bool:
        # The object first, then the key that told of it: dying in between only means doing it again.
        await self._objects.delete(path)
        await self._meta.commit(self._store_domain, [Check(found.key, found.version)], [Delete(found.key)])
        return True

    async def _delete_stray(self, path: str, stream: StreamId, file: FileId) -> bool:
        """Delete a stray; if a job had to be ended for it, only a look after that tells whether it is one."""
        stored, job = await self._job(stream)
        if stored is not None and job is not None and job.state is not JobState.DONE:
            ended = await self._end(stored, job)
            if not ended or await self._is_named(stream, file):
                return False
        await self._objects.delete(path)
        return True

    async def _is_named(self, stream: StreamId, file: FileId) -> bool:
        _, job = await self._job(stream)
        if job is not None and self._is_under_way(job):
            return True  # it may be this job's; should it not be, the next sweep comes
        for key in (file_key(self._domain, file), file_gc_key(self._domain, file)):
            if await self._meta.get(self._store_domain, key) is not None:
                return True
        return False

    async def _job(self, stream: StreamId) -> tuple[Entry | None, CompactionJob | None]:
        key = job_key(stream)
        stored = await self._meta.get(self._store_domain, key)
        return stored, None if stored is None else decode_job(key, stored.value)

    def _is_under_way(self, job: CompactionJob) -> bool:
        forgotten_ms = self._clock.now_ms() - self._orphan_ttl_ms
        forgotten = job.state is JobState.CREATED and job.changed_at_ms <= forgotten_ms
        return job.state is not JobState.DONE and not forgotten

    async def _end(self, stored: Entry, job: CompactionJob) -> bool:
        """End a job that nobody went on with; false if somebody did."""
        if self._is_under_way(job):
            return False
        ended = msgspec.structs.replace(
            job, state=JobState.DONE, changed_at_ms=self._clock.now_ms(), outcome=_FORGOTTEN
        )
        check = Check(stored.key, stored.version)
        result = await self._meta.commit(self._store_domain, [check], [Put(stored.key, encode_job(ended))])
        return not isinstance(result, Conflict)
