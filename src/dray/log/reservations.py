"""WAL objects reserved for this process by staging markers, before a byte of them is written.

Markers are written several at a time and ahead of need, so that an upload does not wait for one. The commit
of an object checks that its marker is unchanged; the orphan sweep changes the marker before it deletes the
object. Whichever comes first wins, so a committed object is never swept.
"""

import asyncio
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime

from dray.ids import MetaDomain, WalId
from dray.index import StagingMarker, encode_object, wal_path
from dray.keyspace import log_domain, staging_key
from dray.log.deps import LogDeps
from dray.log.errors import NotStored
from dray.log.stages import Reservation
from dray.meta.port import ABSENT, Check, Conflict, Delete, MetaError, Put
from dray.runtime import Entropy


class Reservations:
    """The reserved objects of one domain."""

    def __init__(self, domain: MetaDomain, deps: LogDeps) -> None:
        self._domain = domain
        self._store_domain = log_domain(domain)
        self._meta = deps.meta
        self._zone = deps.zone
        self._clock = deps.clock
        self._entropy = deps.entropy
        self._tasks = deps.tasks
        self._ahead = deps.settings.staging_markers_ahead
        self._usable_ms = deps.settings.orphan_ttl_ms // 2
        self._reserving = asyncio.Lock()
        self._free: deque[Reservation] = deque()

    async def take(self) -> Reservation:
        """Return a reservation of this process alone, young enough to be far from the sweep's orphan age."""
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
        """Delete unused markers; one that cannot be deleted now is left to the sweep."""
        unused = [Delete(staging_key(self._domain, reserved.wal_id)) for reserved in self._free]
        self._free.clear()
        with suppress(MetaError):
            for start in range(0, len(unused), self._ahead):
                await self._meta.commit(self._store_domain, [], unused[start : start + self._ahead])

    def _is_low(self) -> bool:
        return 2 * len(self._free) < self._ahead and self._ahead > 1

    async def _refill(self) -> None:
        async with self._reserving:
            if self._is_low():
                with suppress(MetaError):  # an upload that finds no reservation raises it
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
            raise NotStored(f"new WAL ids are already in use: {', '.join(result.keys)}")
        self._free.extend(Reservation(*made, now_ms) for made in zip(ids, paths, result.of, strict=True))


def new_wal_id(now_ms: int, entropy: Entropy) -> WalId:
    """Return a version 7 UUID: unique, and sorted by time."""
    raw = bytearray(now_ms.to_bytes(6, "big") + entropy.token(10))
    raw[6] = 0x70 | raw[6] & 0x0F
    raw[8] = 0x80 | raw[8] & 0x3F
    return WalId(bytes(raw))
