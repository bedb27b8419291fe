"""Garbage collection of Parquet files that neither the index nor the table references.

*Released*: a marker was written when the index entry was removed, the table no longer references the file,
and the grace period for readers of an older index or snapshot is over. A rollback may make the table
reference the file again, so a compactor must have checked the table since (`dray.index.reference_checks`).

*Strays*: in the bucket, old, and named by no record. They come from workers that died, or that repeated the
work of another attempt. A file is named first by its stream's job, then by its own record, then by its
marker, and each step is one commit: a reader that checks them in this order and finds nothing knows that the
file will never be named. A job that has not changed for as long is aborted first; its compactor, if it is
still alive, gets a conflict before it can name a file. After a restore of the metadata, a table may reference
such files until a compactor has rebuilt it, and until then none is deleted.

Every step is idempotent and may run in several processes at once.
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
    encode_job,
    parse_file_path,
)
from dray.index.reference_checks import ReferenceChecks, decode_checks
from dray.keyspace import (
    CLUSTER_DOMAIN,
    file_gc_key,
    file_gc_range,
    file_key,
    job_key,
    log_domain,
    rebuilds_range,
    reference_check_key,
)
from dray.meta.port import Check, Conflict, Delete, Entry, MetaStore, Put
from dray.meta.reading import scan_all
from dray.objects.port import ObjectError, ObjectInfo, ObjectStore
from dray.observe import get_logger
from dray.runtime import Clock
from dray.sweep.plan import PendingDeletion, Reason

_ABANDONED: Final = "abandoned: no compactor continued it"
_log = get_logger("sweep")


class FileSweep:
    """Sweeps the Parquet files of one domain's streams; a file that fails is logged and skipped."""

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
        self._store_domain = log_domain(domain)
        self._clock = clock
        self._orphan_ttl_ms = orphan_ttl_ms

    async def run(self) -> int:
        """Delete released files; returns how many."""
        return await self._delete_all(self.plan())

    async def run_strays(self) -> int:
        """Delete strays; lists all files, so it should run rarely."""
        return await self._delete_all(self.plan_strays())

    async def plan(self) -> AsyncIterator[PendingDeletion]:
        """Return what `run` deletes."""
        async for found, marker, deletable in self._released():
            if deletable:
                delete = partial(self._collect, marker.path, found)
                yield PendingDeletion(marker.path, Reason.UNREFERENCED, delete)

    async def waiting(self) -> AsyncIterator[str]:
        """Return the files that wait for a compactor to remove them from the table, or to check it again."""
        async for _, marker, deletable in self._released():
            if not deletable:
                yield marker.path

    async def plan_strays(self) -> AsyncIterator[PendingDeletion]:
        """Return what `run_strays` deletes."""
        async for info in self._objects.list(FILES_PREFIX):
            try:
                pending = await self.stray(info)
            except CorruptValue as error:
                _log.warning("file_sweep_failed", path=info.path, error=str(error))
                continue
            if pending is not None:
                yield pending

    async def stray(self, info: ObjectInfo) -> PendingDeletion | None:
        """Return the deletion of a listed file if it is a stray of this domain; raises `CorruptValue`.

        Nothing is one while a table may be ahead of the index: it may name files that the index does not.
        """
        oldest_ms = self._clock.now_ms() - self._orphan_ttl_ms
        parsed = parse_file_path(info.path)
        if info.modified_ms > oldest_ms or parsed is None:
            return None
        if meta_domain(parsed[0], self._domains) != self._domain or await self._is_named(*parsed):
            return None
        if await self._meta.scan(CLUSTER_DOMAIN, *rebuilds_range(), limit=1):
            return None
        return PendingDeletion(info.path, Reason.STRAY, partial(self._delete_stray, info.path, *parsed))

    async def marked(self, found: Entry) -> PendingDeletion | None:
        """Return the deletion that a marker asks for, if it is due and a compactor has checked the table.

        Raises `CorruptValue`.
        """
        marker = decode_file_gc(found.key, found.value)
        checks, now_ms = await self._reference_checks(), self._clock.now_ms()
        if marker.in_table or marker.delete_after_ms > now_ms:
            return None
        if checks is not None and not checks.allows(marker, now_ms):
            return None
        return PendingDeletion(marker.path, Reason.UNREFERENCED, partial(self._collect, marker.path, found))

    async def _released(self) -> AsyncIterator[tuple[Entry, FileGcMarker, bool]]:
        """Return the markers whose grace period is over, or has not begun because the table still references
        the file, each with whether the file may be deleted."""
        # Read before the markers: its writer had extended grace periods first, and those are seen here.
        checks = await self._reference_checks()
        async for found in scan_all(self._meta, self._store_domain, file_gc_range(self._domain)):
            try:
                marker = decode_file_gc(found.key, found.value)
            except CorruptValue as error:
                _log.warning("file_sweep_failed", domain=self._domain, error=str(error))
                continue
            now_ms = self._clock.now_ms()
            if marker.in_table:
                yield found, marker, False
            elif marker.delete_after_ms <= now_ms:
                yield found, marker, checks is None or checks.allows(marker, now_ms)

    async def _delete_all(self, plan: AsyncIterator[PendingDeletion]) -> int:
        deleted = 0
        async for pending in plan:
            try:
                deleted += await pending.delete()
            except (CorruptValue, ObjectError) as error:
                _log.warning("file_sweep_failed", path=pending.path, error=str(error))
        return deleted

    async def _reference_checks(self) -> ReferenceChecks | None:
        """Return the last reference checks, or None if no compactor ever ran; a corrupt value allows none."""
        key = reference_check_key(self._domain)
        stored = await self._meta.get(self._store_domain, key)
        try:
            return None if stored is None else decode_checks(key, stored.value)
        except CorruptValue as error:
            _log.warning("files_sweep_failed", domain=self._domain, error=str(error))
            return ReferenceChecks()

    async def _collect(self, path: str, found: Entry) -> bool:
        # The object first, then its key: after a crash in between, the deletion is simply repeated.
        await self._objects.delete(path)
        await self._meta.commit(self._store_domain, [Check(found.key, found.version)], [Delete(found.key)])
        return True

    async def _delete_stray(self, path: str, stream: StreamId, file: FileId) -> bool:
        """Delete a stray; if that takes aborting its job, check again before whether it is named."""
        stored, job = await self._job(stream)
        if stored is not None and job is not None and job.state is not JobState.DONE:
            aborted = await self._abort(stored, job)
            if not aborted or await self._is_named(stream, file):
                return False
        await self._objects.delete(path)
        return True

    async def _is_named(self, stream: StreamId, file: FileId) -> bool:
        _, job = await self._job(stream)
        if job is not None and self._is_in_progress(job):
            return True  # it may be this job's; if not, a later sweep deletes it
        for key in (file_key(self._domain, file), file_gc_key(self._domain, file)):
            if await self._meta.get(self._store_domain, key) is not None:
                return True
        return False

    async def _job(self, stream: StreamId) -> tuple[Entry | None, CompactionJob | None]:
        key = job_key(stream)
        stored = await self._meta.get(self._store_domain, key)
        return stored, None if stored is None else decode_job(key, stored.value)

    def _is_in_progress(self, job: CompactionJob) -> bool:
        oldest_ms = self._clock.now_ms() - self._orphan_ttl_ms
        abandoned = job.state is JobState.CREATED and job.changed_at_ms <= oldest_ms
        return job.state is not JobState.DONE and not abandoned

    async def _abort(self, stored: Entry, job: CompactionJob) -> bool:
        """Abort an abandoned job; returns False if a compactor has continued it."""
        if self._is_in_progress(job):
            return False
        ended = msgspec.structs.replace(
            job, state=JobState.DONE, changed_at_ms=self._clock.now_ms(), outcome=_ABANDONED
        )
        check = Check(stored.key, stored.version)
        result = await self._meta.commit(self._store_domain, [check], [Put(stored.key, encode_job(ended))])
        return not isinstance(result, Conflict)
