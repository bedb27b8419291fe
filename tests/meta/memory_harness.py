"""The harness of the memory metadata store."""

from dray.meta.leased_session import LeasedSession
from dray.meta.memory import Link, MemoryMetaServer, MemoryMetaSettings, MemoryMetaStore
from dray.meta.port import MetaStore, Session
from dray.runtime import RetrySettings, SystemClock, Tasks
from dray.testing.entropy import SeededEntropy


class MemoryHarness:
    """A server and its clients."""

    syncs = True

    session_ttl_ms = 400

    def __init__(self, link: Link) -> None:
        self.server = MemoryMetaServer(SystemClock())
        self.tasks = Tasks()
        self._link = link
        self._entropy = SeededEntropy("ids of commits and sessions")
        self._opened: list[MemoryMetaStore] = []

    async def open(self) -> MetaStore:
        retry = RetrySettings(first_ms=1.0, max_ms=20.0, budget_ms=10_000.0)
        store = MemoryMetaStore(
            self.server,
            SystemClock(),
            self._entropy,
            tasks=self.tasks,
            settings=MemoryMetaSettings(retry),
            link=self._link,
        )
        self._opened.append(store)
        return store

    def abandon(self, session: Session) -> None:
        assert isinstance(session, LeasedSession)
        session.stop_renewing()

    async def forget_changes(self) -> None:
        self.server.forget_changes()

    async def close(self) -> None:
        for store in self._opened:
            await store.close()
        await self.tasks.stop()
        assert self.tasks.failures == 0
