"""Deletes Parquet files that neither the index nor the table names.

*Given up*: marked by whoever removed the index entry, and out of the table, and the grace is over for those
who still read from an older index or snapshot.

*Strays*: in the bucket, old, and in no record. They come from workers that died, or that wrote what another
attempt had already written. A file is named first by its stream's job, then by its own record, then by its
mark, and each step is one commit: who looks in this order and finds nothing knows that nobody will name it.

Each step can be repeated and may be done by several processes at once.
"""

from dray.ids import FileId, MetaDomain, StreamId, meta_domain
from dray.index import (
    FILES_PREFIX,
    CorruptValue,
    JobState,
    decode_file_gc,
    decode_job,
    domain_name,
    file_gc_key,
    file_gc_range,
    file_key,
    job_key,
    parse_file_path,
)
from dray.meta.port import Check, Delete, Domain, Entry, MetaStore
from dray.objects.port import ObjectError, ObjectStore
from dray.observe import get_logger
from dray.runtime import Clock
from dray.sweep.scans import scan_all

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
        deleted = 0
        async for found in scan_all(self._meta, self._store_domain, file_gc_range(self._domain)):
            try:
                deleted += await self._collect(found)
            except (CorruptValue, ObjectError) as error:
                _log.warning("file_not_swept", domain=self._domain, error=str(error))
        return deleted

    async def run_strays(self) -> int:
        """Delete strays: lists all files, so it is for once in a while."""
        deleted = 0
        oldest_ms = self._clock.now_ms() - self._orphan_ttl_ms
        async for info in self._objects.list(FILES_PREFIX):
            if info.modified_ms > oldest_ms:
                continue
            try:
                deleted += await self._sweep_stray(info.path)
            except (CorruptValue, ObjectError) as error:
                _log.warning("file_not_swept", path=info.path, error=str(error))
        return deleted

    async def _collect(self, found: Entry) -> bool:
        mark = decode_file_gc(found.key, found.value)
        if mark.in_table or mark.delete_after_ms > self._clock.now_ms():
            return False
        # The object first, then the key that told of it: dying in between only means doing it again.
        await self._objects.delete(mark.path)
        await self._meta.commit(self._store_domain, [Check(found.key, found.version)], [Delete(found.key)])
        return True

    async def _sweep_stray(self, path: str) -> bool:
        parsed = parse_file_path(path)
        if parsed is None or meta_domain(parsed[0], self._domains) != self._domain:
            return False
        if await self._is_named(*parsed):
            return False
        await self._objects.delete(path)
        return True

    async def _is_named(self, stream: StreamId, file: FileId) -> bool:
        key = job_key(stream)
        job = await self._meta.get(self._store_domain, key)
        if job is not None and decode_job(key, job.value).state is not JobState.DONE:
            return True  # it may be this job's; should it not be, the next sweep comes
        for key in (file_key(self._domain, file), file_gc_key(self._domain, file)):
            if await self._meta.get(self._store_domain, key) is not None:
                return True
        return False
