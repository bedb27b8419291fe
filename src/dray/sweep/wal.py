"""Deletes WAL objects that nothing points to, and those that nothing ever will.

Three kinds, each safe for its own reason:

*Collected*: the last reference was given up, and the grace for readers that still hold the old index is over.

*Orphans*: staged long ago and never committed. The marker is condemned first; a commit checks the marker, so
from then on no commit can succeed, and only then is the object deleted.

*Strays*: in the bucket, old, and in no record at all. A marker is written before its object, so whoever
wrote it has lost its marker and can never commit it. They come from puts that land after their object was
swept, and from tasks of a bulk load whose work did not count. While such a load is under way its record
stands for the markers of all its objects.

Each step can be repeated and may be done by several processes at once.
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
    domain_name,
    encode_object,
    gc_key,
    gc_range,
    object_key,
    parse_wal_path,
    staging_key,
    staging_range,
    wal_of_key,
)
from dray.index.loads import decode_load, load_key, load_of_path
from dray.meta.port import ABSENT, Check, Conflict, Delete, Domain, Entry, MetaStore, Put, Version
from dray.meta.scans import scan_all
from dray.objects.port import ObjectError, ObjectStore
from dray.observe import get_logger
from dray.runtime import Clock
from dray.sweep.doomed import Doomed, Why

_log = get_logger("sweep")


@dataclass(slots=True)
class Swept:
    """How many objects one sweep deleted, and how many it could not deal with."""

    collected: int = 0
    orphans: int = 0
    strays: int = 0
    failed: int = 0

    def count(self, why: Why, *, deleted: bool) -> None:
        if deleted:
            self.collected += why is Why.GIVEN_UP
            self.orphans += why is Why.ORPHAN
            self.strays += why is Why.STRAY


class WalSweep:
    """Sweeps the WAL objects of one domain.

    An object that makes trouble is told of and left for the next time.
    """

    def __init__(
        self, meta: MetaStore, objects: ObjectStore, domain: MetaDomain, clock: Clock, orphan_ttl_ms: int
    ) -> None:
        self._meta = meta
        self._objects = objects
        self._domain = domain
        self._store_domain = Domain(domain_name(domain))
        self._clock = clock
        self._orphan_ttl_ms = orphan_ttl_ms

    async def run(self) -> Swept:
        """Delete what was given up, and orphans.

        Goes by the markers, so it costs little when there are few.
        """
        return await self._delete_all(self.plan)

    async def run_strays(self) -> Swept:
        """Delete strays: lists the whole bucket, so it is for once in a while."""
        return await self._delete_all(self.plan_strays)

    async def plan(self, swept: Swept | None = None) -> AsyncIterator[Doomed]:
        """Say what `run` deletes; what makes trouble is told of, and counted in `swept`."""
        swept = swept or Swept()
        for bounds, judge in (
            (gc_range(self._domain), self._judge_marker),
            (staging_range(self._domain), self._judge_staging),
        ):
            async for found in scan_all(self._meta, self._store_domain, bounds):
                try:
                    doomed = judge(found)
                except CorruptValue as error:
                    self._tell(error, swept)
                    continue
                if doomed is not None:
                    yield doomed

    async def plan_strays(self, swept: Swept | None = None) -> AsyncIterator[Doomed]:
        """Say what `run_strays` deletes."""
        swept = swept or Swept()
        oldest_ms = self._clock.now_ms() - self._orphan_ttl_ms
        async for info in self._objects.list(WAL_PREFIX):
            try:
                stray = info.modified_ms <= oldest_ms and await self._is_stray(info.path)
            except CorruptValue as error:
                self._tell(error, swept)
                continue
            if stray:
                yield Doomed(info.path, Why.STRAY, partial(self._delete_stray, info.path))

    async def _delete_all(self, plan: Callable[[Swept], AsyncIterator[Doomed]]) -> Swept:
        swept = Swept()
        async for doomed in plan(swept):
            try:
                swept.count(doomed.why, deleted=await doomed.delete())
            except ObjectError as error:
                self._tell(error, swept)
        return swept

    def _tell(self, error: Exception, swept: Swept) -> None:
        swept.failed += 1
        _log.warning("object_not_swept", domain=self._domain, error=str(error))

    def _judge_marker(self, found: Entry) -> Doomed | None:
        marker = decode_gc(found.key, found.value)
        if marker.delete_after_ms > self._clock.now_ms():
            return None
        return Doomed(marker.path, Why.GIVEN_UP, partial(self._collect, marker.path, found))

    async def _collect(self, path: str, found: Entry) -> bool:
        await self._delete(path, found.key, found.version)
        return True

    def _judge_staging(self, found: Entry) -> Doomed | None:
        marker = decode_staging(found.key, found.value)
        if marker.created_at_ms > self._clock.now_ms() - self._orphan_ttl_ms:
            return None
        return Doomed(marker.path, Why.ORPHAN, partial(self._sweep_orphan, marker, found))

    async def _sweep_orphan(self, marker: StagingMarker, found: Entry) -> bool:
        version = found.version if marker.condemned else await self._condemn(found)
        if version is None:
            return False
        await self._delete(marker.path, found.key, version)
        return True

    async def _condemn(self, found: Entry) -> Version | None:
        """Make sure that the object can never be committed; None if it has been."""
        marker = msgspec.structs.replace(decode_staging(found.key, found.value), condemned=True)
        committed = object_key(self._domain, wal_of_key(found.key))
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
        for key in (staging_key(*parsed), object_key(*parsed), gc_key(*parsed)):
            if await self._meta.get(self._store_domain, key) is not None:
                return False
        return True

    async def _delete_stray(self, path: str) -> bool:
        await self._objects.delete(path)
        return True

    async def _is_being_loaded(self, path: str) -> bool:
        """Whether a bulk load may yet commit the object; once it cannot, it never can again."""
        load_id = load_of_path(path)
        if load_id is None:
            return False
        key = load_key(self._domain, load_id)
        stored = await self._meta.get(self._store_domain, key)
        return stored is not None and decode_load(key, stored.value).is_under_way

    async def _delete(self, path: str, key: str, version: Version) -> None:
        """Delete the object, then the key that told of it: dying in between only means doing it again."""
        await self._objects.delete(path)
        await self._meta.commit(self._store_domain, [Check(key, version)], [Delete(key)])
