"""Commit slots: keys of this client, each of which is used by one commit at a time.

Every commit checks that its slot is as the client left it, and changes it. So a request that is executed
twice, or long after its fence, changes nothing (see `commits`).

A slot is created on demand, under a number that is never used again: after a creation without an answer
another number is taken, so a late creation touches no slot in use. A slot whose state is not known, such as
that of a cancelled commit, is abandoned, and deleted with the next creation.

All slots belong to one lease, so that those of a dead client disappear. A client that has lost the lease
drops its slots.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from dray.meta.etcd import api_pb2 as api
from dray.meta.etcd.calls import TXN
from dray.meta.etcd.endpoints import Endpoints
from dray.meta.etcd.keys import Layout
from dray.meta.etcd.sessions import Sessions, lease_of
from dray.meta.leased_session import LeasedSession
from dray.meta.port import SessionExpired, SessionId, Unavailable

_DELETED_AT_ONCE: Final = 8


@dataclass(slots=True)
class Slot:
    """A key, and the revision of its last change; None while that is not known."""

    key: bytes
    revision: int | None
    lease: SessionId


class Slots:
    """The slots of one client."""

    def __init__(
        self, endpoints: Endpoints, layout: Layout, sessions: Sessions, client: str, ttl_ms: int
    ) -> None:
        self._endpoints = endpoints
        self._layout = layout
        self._sessions = sessions
        self._client = client
        self._ttl_ms = ttl_ms
        self._created = 0
        self._free: list[Slot] = []
        self._abandoned: list[bytes] = []
        self._lease: LeasedSession | None = None
        self._leasing = asyncio.Lock()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[Slot]:
        """Lend a slot; if its revision is None afterwards, it is abandoned."""
        slot = self._free.pop() if self._free else await self._create()
        try:
            yield slot
        finally:
            if slot.revision is None:
                self._abandoned.append(slot.key)
            elif self._lease is not None and slot.lease == self._lease.id:
                self._free.append(slot)

    def lose(self, slot: Slot) -> None:
        """Drop all slots of a lease that no longer exists."""
        if self._lease is not None and slot.lease == self._lease.id:
            self._lease.invalidate()

    async def _create(self) -> Slot:
        lease = await self._current_lease()
        self._created += 1
        key = self._layout.slot(self._client, self._created)
        abandoned, self._abandoned = self._abandoned[:_DELETED_AT_ONCE], self._abandoned[_DELETED_AT_ONCE:]
        put = api.PutRequest(key=key, lease=lease_of(lease.id))
        deletes = [api.RequestOp(request_delete_range=api.DeleteRangeRequest(key=one)) for one in abandoned]
        try:
            response = await self._endpoints.call(
                TXN, api.TxnRequest(success=[api.RequestOp(request_put=put), *deletes])
            )
        except SessionExpired as error:
            lease.invalidate()
            raise Unavailable("the lease of the commit slots has expired") from error
        return Slot(key, response.header.revision, lease.id)

    async def _current_lease(self) -> LeasedSession:
        async with self._leasing:
            if self._lease is None or not self._lease.alive:
                self._free.clear()
                self._abandoned.clear()
                self._lease = await self._sessions.open(self._ttl_ms)
            return self._lease
