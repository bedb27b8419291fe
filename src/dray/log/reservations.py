"""WAL objects this process may write, marked in the metadata store before a byte is written.

Markers are written several at a time and ahead of need, so that a flush does not wait for one. The commit of
an object checks that its marker is still as it was written; the orphan sweep changes the marker before it
deletes the object. Whichever comes first wins, and nothing that was committed is ever swept.
"""

import asyncio
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime

from dray.ids import MetaDomain, WalId
from dray.index import StagingMarker, encode_object, staging_key, wal_path
from dray.log.errors import NotStored
from dray.log.settings import LogSettings
from dray.log.stages import Reservation
from dray.meta.port import ABSENT, Check, Conflict, Delete, Domain, MetaError, MetaStore, Put
from dray.runtime import Clock, Entropy, Tasks


class Reservations:
    """The reserved objects of one domain."""

    def __init__(
        self,
        meta: MetaStore,
        store_domain: Domain,
        domain: MetaDomain,
        *,
        zone: str,
        clock: Clock,
        entropy: Entropy,
        tasks: Tasks,
        settings: LogSettings,
    ) -> None:
        self._meta = meta
        self._store_domain = store_domain
        self._domain = domain
        self._zone = zone
        self._clock = clock
        self._entropy = entropy
        self._tasks = tasks
        self._ahead = settings.reservations
        self._usable_ms = settings.wal_orphan_ttl_ms // 2
        self._reserving = asyncio.Lock()
        self._free: deque[Reservation] = deque()

    async def take(self) -> Reservation:
        """Return a reservation nobody else has, young enough that the sweep will leave it alone for long."""
        while True:
            reservation = self._take_free()
            if reservation is not None:
                if self._is_low() and not self._reserving.locked():
                    self._tasks.start(self._refill(), name=f"reserve-{self._domain}")
                return reservation
            async with self._reserving:
                if not self._free:
                    await self._reserve()

    async def release(self) -> None:
        """Give up what was not used; a marker that cannot be deleted now is left to the sweep."""
        unused = list(self._free)
        self._free.clear()
        if unused:
            deletes = [Delete(staging_key(self._domain, reserved.wal_id)) for reserved in unused]
            with suppress(MetaError):
                await self._meta.commit(self._store_domain, [], deletes)

    def _is_low(self) -> bool:
        return 2 * len(self._free) < self._ahead and self._ahead > 1

    async def _refill(self) -> None:
        async with self._reserving:
            if self._is_low():
                with suppress(MetaError):  # whoever needs one and finds none will meet the error
                    await self._reserve()

    def _take_free(self) -> Reservation | None:
        oldest_ms = self._clock.now_ms() - self._usable_ms
        while self._free:
            reservation = self._free.popleft()
            if reservation.created_at_ms > oldest_ms:
                return reservation
        return None

    async def _reserve(self) -> None:
        now_ms = self._clock.now_ms()
        date = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y/%m/%d")
        ids = [new_wal_id(now_ms, self._entropy) for _ in range(self._ahead)]
        paths = [wal_path(self._zone, self._domain, date, wal_id) for wal_id in ids]
        keys = [staging_key(self._domain, wal_id) for wal_id in ids]
        result = await self._meta.commit(
            self._store_domain,
            [Check(key, ABSENT) for key in keys],
            [
                Put(key, encode_object(StagingMarker(path, now_ms)))
                for key, path in zip(keys, paths, strict=True)
            ],
        )
        if isinstance(result, Conflict):
            raise NotStored(f"new WAL ids were in use already: {', '.join(result.keys)}")
        self._free.extend(Reservation(*made, now_ms) for made in zip(ids, paths, result.of, strict=True))


def new_wal_id(now_ms: int, entropy: Entropy) -> WalId:
    """Return a version 7 UUID: sorts by time, never comes twice."""
    raw = bytearray(now_ms.to_bytes(6, "big") + entropy.token(10))
    raw[6] = 0x70 | raw[6] & 0x0F
    raw[8] = 0x80 | raw[8] & 0x3F
    return WalId(bytes(raw))
