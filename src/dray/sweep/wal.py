"""Deletes WAL objects that nothing points to, and those that nothing ever will.

Three kinds, each safe for its own reason:

*Collected*: the last reference was given up, and the grace for readers that still hold the old index is over.

*Orphans*: staged long ago and never committed. The marker is condemned first; a commit checks the marker, so
from then on no commit can succeed, and only then is the object deleted.

*Strays*: in the bucket, old, and in no record at all. A marker is written before its object, so whoever
wrote it has lost its marker and can never commit it. They come from puts that land after their object was
swept.

Each step can be repeated and may be done by several processes at once.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from dray.ids import MetaDomain
from dray.index import (
    WAL_PREFIX,
    CorruptValue,
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
from dray.meta.port import ABSENT, Check, Conflict, Delete, Domain, Entry, MetaStore, Put, Version
from dray.objects.port import ObjectError, ObjectStore
from dray.observe import get_logger
from dray.runtime import Clock
from dray.sweep.scans import scan_all

T = TypeVar("T")
_log = get_logger("sweep")


@dataclass(slots=True)
class Swept:
    """How many objects one sweep deleted, and how many it could not deal with."""

    collected: int = 0
    orphans: int = 0
    strays: int = 0
    failed: int = 0


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
        swept = Swept()
        async for found in scan_all(self._meta, self._store_domain, gc_range(self._domain)):
            swept.collected += await self._try(self._collect, found, swept)
        async for found in scan_all(self._meta, self._store_domain, staging_range(self._domain)):
            swept.orphans += await self._try(self._sweep_orphan, found, swept)
        return swept

    async def run_strays(self) -> Swept:
        """Delete strays: lists the whole bucket, so it is for once in a while."""
        swept = Swept()
        oldest_ms = self._clock.now_ms() - self._orphan_ttl_ms
        async for info in self._objects.list(WAL_PREFIX):
            if info.modified_ms <= oldest_ms:
                swept.strays += await self._try(self._sweep_stray, info.path, swept)
        return swept

    async def _try(self, sweep: Callable[[T], Awaitable[bool]], what: T, swept: Swept) -> bool:
        try:
            return await sweep(what)
        except (CorruptValue, ObjectError) as error:
            swept.failed += 1
            _log.warning("object_not_swept", domain=self._domain, error=str(error))
            return False

    async def _collect(self, found: Entry) -> bool:
        marker = decode_gc(found.key, found.value)
        if marker.delete_after_ms > self._clock.now_ms():
            return False
        await self._delete(marker.path, found.key, found.version)
        return True

    async def _sweep_orphan(self, found: Entry) -> bool:
        marker = decode_staging(found.key, found.value)
        if marker.created_at_ms > self._clock.now_ms() - self._orphan_ttl_ms:
            return False
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

    async def _sweep_stray(self, path: str) -> bool:
        parsed = parse_wal_path(path)
        if parsed is None or parsed[0] != self._domain:
            return False
        # In this order: a record moves from the first key to the second to the third, never back.
        for key in (staging_key(*parsed), object_key(*parsed), gc_key(*parsed)):
            if await self._meta.get(self._store_domain, key) is not None:
                return False
        await self._objects.delete(path)
        return True

    async def _delete(self, path: str, key: str, version: Version) -> None:
        """Delete the object, then the key that told of it: dying in between only means doing it again."""
        await self._objects.delete(path)
        await self._meta.commit(self._store_domain, [Check(key, version)], [Delete(key)])
