"""Garbage collection of WAL objects.

Three kinds are deleted, each safe for its own reason:

*Collected*: the last reference was released, and the grace period for readers of the old index is over.

*Orphans*: staged long ago and never committed. The marker is condemned first; a commit checks the marker, so
from then on no commit can succeed, and only then is the object deleted.

*Strays*: in the bucket, old, and named by no record. A marker is written before its object, so the writer
of a stray has lost its marker and can never commit it. Strays come from puts that land after their object
was swept, and from bulk-load tasks whose results were discarded. While a load is in progress, its record
stands for the markers of all its objects.

Every step is idempotent and may run in several processes at once.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial

import msgspec

from dray.ids import MetaDomain
from dray.index import (
    WAL_PREFIX,
    CorruptValue,
    StagingMarker,
    decode_gc,
    decode_staging,
    encode_object,
    parse_wal_path,
)
from dray.index.loads import decode_load, load_of_path
from dray.keyspace import (
    load_key,
    log_domain,
    staging_key,
    staging_range,
    wal_gc_key,
    wal_gc_range,
    wal_object_key,
    wal_of_key,
)
from dray.meta.port import ABSENT, Check, Conflict, Delete, Entry, MetaStore, Put, Version
from dray.meta.reading import scan_all
from dray.objects.port import ObjectError, ObjectInfo, ObjectStore
from dray.observe import get_logger
from dray.runtime import Clock
from dray.sweep.plan import PendingDeletion, Reason

_log = get_logger("sweep")


@dataclass(slots=True)
class Swept:
    """Numbers of objects that one sweep deleted, by kind, and of those that failed."""

    collected: int = 0
    orphans: int = 0
    strays: int = 0
    failed: int = 0

    def count(self, reason: Reason, *, deleted: bool) -> None:
        if deleted:
            self.collected += reason is Reason.UNREFERENCED
            self.orphans += reason is Reason.ORPHAN
            self.strays += reason is Reason.STRAY


class WalSweep:
    """Sweeps the WAL objects of one domain; one that fails is logged and retried by the next sweep."""

    def __init__(
        self, meta: MetaStore, objects: ObjectStore, domain: MetaDomain, clock: Clock, orphan_ttl_ms: int
    ) -> None:
        self._meta = meta
        self._objects = objects
        self._domain = domain
        self._store_domain = log_domain(domain)
        self._clock = clock
        self._orphan_ttl_ms = orphan_ttl_ms

    async def run(self) -> Swept:
        """Delete unreferenced objects and orphans; reads only their markers, so it is cheap."""
        return await self._delete_all(self.plan)

    async def run_strays(self) -> Swept:
        """Delete strays; lists the whole bucket, so it should run rarely."""
        return await self._delete_all(self.plan_strays)

    async def plan(self, swept: Swept | None = None) -> AsyncIterator[PendingDeletion]:
        """Return what `run` deletes; failures are logged and counted in `swept`."""
        swept = swept or Swept()
        for bounds in (wal_gc_range(self._domain), staging_range(self._domain)):
            async for found in scan_all(self._meta, self._store_domain, bounds):
                try:
                    pending = self.marked(found)
                except CorruptValue as error:
                    self._failed(error, swept)
                    continue
                if pending is not None:
                    yield pending

    async def plan_strays(self, swept: Swept | None = None) -> AsyncIterator[PendingDeletion]:
        """Return what `run_strays` deletes."""
        swept = swept or Swept()
        async for info in self._objects.list(WAL_PREFIX):
            try:
                pending = await self.stray(info)
            except CorruptValue as error:
                self._failed(error, swept)
                continue
            if pending is not None:
                yield pending

    async def stray(self, info: ObjectInfo) -> PendingDeletion | None:
        """Return the deletion of a listed object if it is a stray; raises `CorruptValue`."""
        oldest_ms = self._clock.now_ms() - self._orphan_ttl_ms
        if info.modified_ms > oldest_ms or not await self._is_stray(info.path):
            return None
        return PendingDeletion(info.path, Reason.STRAY, partial(self._delete_stray, info.path))

    def marked(self, found: Entry) -> PendingDeletion | None:
        """Return the deletion that a marker asks for, if it is due; raises `CorruptValue`."""
        of_object, _ = wal_gc_range(self._domain)
        return self._unreferenced(found) if found.key.startswith(of_object) else self._orphan(found)

    async def _delete_all(self, plan: Callable[[Swept], AsyncIterator[PendingDeletion]]) -> Swept:
        swept = Swept()
        async for pending in plan(swept):
            try:
                swept.count(pending.reason, deleted=await pending.delete())
            except ObjectError as error:
                self._failed(error, swept)
        return swept

    def _failed(self, error: Exception, swept: Swept) -> None:
        swept.failed += 1
        _log.warning("object_sweep_failed", domain=self._domain, error=str(error))

    def _unreferenced(self, found: Entry) -> PendingDeletion | None:
        marker = decode_gc(found.key, found.value)
        if marker.delete_after_ms > self._clock.now_ms():
            return None
        return PendingDeletion(marker.path, Reason.UNREFERENCED, partial(self._collect, marker.path, found))

    async def _collect(self, path: str, found: Entry) -> bool:
        await self._delete(path, found.key, found.version)
        return True

    def _orphan(self, found: Entry) -> PendingDeletion | None:
        marker = decode_staging(found.key, found.value)
        if marker.created_at_ms > self._clock.now_ms() - self._orphan_ttl_ms:
            return None
        return PendingDeletion(marker.path, Reason.ORPHAN, partial(self._sweep_orphan, marker, found))

    async def _sweep_orphan(self, marker: StagingMarker, found: Entry) -> bool:
        version = found.version if marker.condemned else await self._condemn(found)
        if version is None:
            return False
        await self._delete(marker.path, found.key, version)
        return True

    async def _condemn(self, found: Entry) -> Version | None:
        """Make sure that the object can never be committed; returns None if it has been."""
        marker = msgspec.structs.replace(decode_staging(found.key, found.value), condemned=True)
        committed = wal_object_key(self._domain, wal_of_key(found.key))
        result = await self._meta.commit(
            self._store_domain,
            [Check(found.key, found.version), Check(committed, ABSENT)],
            [Put(found.key, encode_object(marker))],
        )
        return None if isinstance(result, Conflict) else result.of[0]

    async def _is_stray(self, path: str) -> bool:
        parsed = parse_wal_path(path)
        if parsed is None or parsed[0] != self._domain or await self._is_being_loaded(path):
            return False
        # In this order: a record moves from the first key to the second to the third, never back.
        for key in (staging_key(*parsed), wal_object_key(*parsed), wal_gc_key(*parsed)):
            if await self._meta.get(self._store_domain, key) is not None:
                return False
        return True

    async def _delete_stray(self, path: str) -> bool:
        await self._objects.delete(path)
        return True

    async def _is_being_loaded(self, path: str) -> bool:
        """Return whether a bulk load may still commit the object; once it cannot, it never can again."""
        load_id = load_of_path(path)
        if load_id is None:
            return False
        key = load_key(self._domain, load_id)
        stored = await self._meta.get(self._store_domain, key)
        return stored is not None and decode_load(key, stored.value).is_under_way

    async def _delete(self, path: str, key: str, version: Version) -> None:
        """Delete the object, then its key: after a crash in between, the deletion is simply repeated."""
        await self._objects.delete(path)
        await self._meta.commit(self._store_domain, [Check(key, version)], [Delete(key)])
