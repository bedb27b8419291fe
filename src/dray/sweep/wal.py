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

from dataclasses import dataclass

import msgspec

from dray.ids import MetaDomain
from dray.index import (
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
)
from dray.meta.port import Check, Conflict, Delete, Domain, Entry, MetaStore, Put, Version
from dray.objects.port import ObjectStore
from dray.runtime import Clock


@dataclass(slots=True)
class Swept:
    """How many objects one sweep deleted."""

    collected: int = 0
    orphans: int = 0
    strays: int = 0


class WalSweep:
    """Sweeps the WAL objects of one domain."""

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
        """Sweep once."""
        swept = Swept()
        await self._collect(swept)
        await self._sweep_orphans(swept)
        await self._sweep_strays(swept)
        return swept

    async def _collect(self, swept: Swept) -> None:
        now_ms = self._clock.now_ms()
        for found in await self._meta.scan(self._store_domain, *gc_range(self._domain)):
            marker = decode_gc(found.key, found.value)
            if marker.delete_after_ms <= now_ms:
                await self._delete(marker.path, found.key, found.version)
                swept.collected += 1

    async def _sweep_orphans(self, swept: Swept) -> None:
        oldest_ms = self._clock.now_ms() - self._orphan_ttl_ms
        for found in await self._meta.scan(self._store_domain, *staging_range(self._domain)):
            marker = decode_staging(found.key, found.value)
            if marker.created_at_ms > oldest_ms:
                continue
            version = found.version if marker.condemned else await self._condemn(found)
            if version is not None:
                await self._delete(marker.path, found.key, version)
                swept.orphans += 1

    async def _condemn(self, found: Entry) -> Version | None:
        """Make sure that the object can never be committed; None if it has just been."""
        marker = msgspec.structs.replace(decode_staging(found.key, found.value), condemned=True)
        result = await self._meta.commit(
            self._store_domain, [Check(found.key, found.version)], [Put(found.key, encode_object(marker))]
        )
        return None if isinstance(result, Conflict) else result.of[0]

    async def _sweep_strays(self, swept: Swept) -> None:
        oldest_ms = self._clock.now_ms() - self._orphan_ttl_ms
        async for info in self._objects.list("wal/v1/"):
            if info.modified_ms <= oldest_ms and await self._is_stray(info.path):
                await self._objects.delete(info.path)
                swept.strays += 1

    async def _is_stray(self, path: str) -> bool:
        parsed = parse_wal_path(path)
        if parsed is None or parsed[0] != self._domain:
            return False
        # In this order: a record moves from the first key to the second to the third, never back.
        for key in (staging_key(*parsed), object_key(*parsed), gc_key(*parsed)):
            if await self._meta.get(self._store_domain, key) is not None:
                return False
        return True

    async def _delete(self, path: str, key: str, version: Version) -> None:
        """Delete the object, then the key that told of it: dying in between only means doing it again."""
        await self._objects.delete(path)
        await self._meta.commit(self._store_domain, [Check(key, version)], [Delete(key)])
