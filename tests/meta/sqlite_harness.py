"""The harness of the SQLite metadata store."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import apsw

from dray.meta.leased_session import LeasedSession
from dray.meta.port import Session
from dray.meta.sqlite import SqliteMetaSettings, SqliteMetaStore
from dray.runtime import SystemClock, SystemEntropy, Tasks


class SqliteHarness:
    """One file and its clients in this process."""

    syncs = True

    session_ttl_ms = 400

    def __init__(self, path: Path, settings: SqliteMetaSettings | None = None) -> None:
        self.path = path
        self.tasks = Tasks()
        self._settings = settings or SqliteMetaSettings(sweep_ms=50)
        self._opened: list[SqliteMetaStore] = []

    async def open(self) -> SqliteMetaStore:
        store = await SqliteMetaStore.open(
            self.path, clock=SystemClock(), entropy=SystemEntropy(), tasks=self.tasks, settings=self._settings
        )
        self._opened.append(store)
        return store

    def abandon(self, session: Session) -> None:
        assert isinstance(session, LeasedSession)
        session.stop_renewing()

    async def forget_changes(self) -> None:
        db = apsw.Connection(str(self.path))
        db.execute("UPDATE state SET forgotten = revision; DELETE FROM commits").fetchall()
        db.close()

    async def close(self) -> None:
        for store in self._opened:
            await store.close()
        await self.tasks.stop()
        assert self.tasks.failures == 0


@asynccontextmanager
async def opened(path: Path, settings: SqliteMetaSettings | None = None) -> AsyncIterator[SqliteMetaStore]:
    harness = SqliteHarness(path, settings)
    try:
        yield await harness.open()
    finally:
        await harness.close()
