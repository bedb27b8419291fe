"""The harness of the etcd metadata store."""

import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from dray.meta.etcd import EtcdAccess, EtcdMetaSettings, EtcdMetaStore
from dray.meta.etcd import api_pb2 as api
from dray.meta.etcd.calls import COMPACT
from dray.meta.leased_session import LeasedSession
from dray.meta.port import Session
from dray.runtime import SystemClock, SystemEntropy, Tasks

QUICK_ELECTIONS: Final = ("--heartbeat-interval=50", "--election-timeout=500")
"""The shortest time to live of a lease is one and a half election timeouts, rounded up: 1 s."""
_prefixes = itertools.count()


def fresh_prefix() -> str:
    return f"/dray-test/{next(_prefixes)}"


class EtcdHarness:
    """One prefix of a cluster and its clients in this process."""

    syncs = True

    session_ttl_ms = 2_000

    def __init__(
        self,
        addresses: Sequence[str],
        settings: EtcdMetaSettings | None = None,
        access: EtcdAccess | None = None,
    ) -> None:
        self.access = access or EtcdAccess(tuple(addresses), fresh_prefix())
        self.settings = settings or EtcdMetaSettings(history_ms=0)
        self.tasks = Tasks()
        self._opened: list[EtcdMetaStore] = []

    async def open(self) -> EtcdMetaStore:
        store = await EtcdMetaStore.open(
            self.access,
            clock=SystemClock(),
            entropy=SystemEntropy(),
            tasks=self.tasks,
            settings=self.settings,
        )
        self._opened.append(store)
        return store

    def abandon(self, session: Session) -> None:
        assert isinstance(session, LeasedSession)
        session.stop_renewing()

    async def forget_changes(self) -> None:
        store = self._opened[-1]
        await store._endpoints.repeat(COMPACT, api.CompactionRequest(revision=await store._reads.revision()))

    async def close(self) -> None:
        for store in self._opened:
            await store.close()
        await self.tasks.stop()
        assert self.tasks.failures == 0


@asynccontextmanager
async def opened(
    addresses: Sequence[str],
    settings: EtcdMetaSettings | None = None,
    access: EtcdAccess | None = None,
) -> AsyncIterator[EtcdMetaStore]:
    harness = EtcdHarness(addresses, settings, access)
    try:
        yield await harness.open()
    finally:
        await harness.close()
