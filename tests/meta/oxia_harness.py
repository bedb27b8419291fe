"""The harness of the Oxia metadata store: over our own server of its protocol, or over a real one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dray.meta.leased_session import LeasedSession
from dray.meta.oxia import OxiaMetaSettings, OxiaMetaStore
from dray.meta.port import Session
from dray.runtime import RetrySettings, SystemClock, SystemEntropy, Tasks
from dray.testing.oxia_server import Faults, NoFaults, OxiaServer, OxiaServerSettings

TTL_MS = 800


def client_settings(endpoints: tuple[str, ...], **changes: object) -> OxiaMetaSettings:
    """Return settings for tests: short pauses, short sessions."""
    chosen: dict[str, object] = {
        "endpoints": endpoints,
        "retry": RetrySettings(first_ms=2.0, max_ms=50.0, budget_ms=20_000.0),
        "session_ttl_min_ms": TTL_MS,
        "sweep_ms": 50.0,
        **changes,
    }
    return OxiaMetaSettings(**chosen)  # type: ignore[arg-type]


class OxiaClients:
    """Clients of one server."""

    syncs = False

    def __init__(self, *addresses: str, **client: object) -> None:
        self.tasks = Tasks()
        self._settings = client_settings(addresses, **client)
        self._opened: list[OxiaMetaStore] = []

    async def open(self) -> OxiaMetaStore:
        store = await OxiaMetaStore.open(
            self._settings, clock=SystemClock(), entropy=SystemEntropy(), tasks=self.tasks
        )
        self._opened.append(store)
        return store

    def abandon(self, session: Session) -> None:
        assert isinstance(session, LeasedSession)
        session.stop_renewing()

    async def close(self) -> None:
        for store in self._opened:
            await store.close()
        await self.tasks.stop()
        assert self.tasks.failures == 0


class OxiaHarness(OxiaClients):
    """A server in this process and its clients."""

    session_ttl_ms = TTL_MS

    def __init__(self, server: OxiaServer, **client: object) -> None:
        super().__init__(*server.addresses, **client)
        self.server = server

    async def forget_changes(self) -> None:
        self.server.trim_notifications()


class RealOxiaHarness(OxiaClients):
    """A real server and its clients in this process."""

    session_ttl_ms = 2_000

    async def forget_changes(self) -> None:
        pytest.skip("a real server keeps notifications for at least a second, usually for an hour")


@asynccontextmanager
async def served(
    settings: OxiaServerSettings | None = None, faults: Faults | None = None, **client: object
) -> AsyncIterator[OxiaHarness]:
    """Run a server, and close it and its clients at the end, without faults."""
    server = OxiaServer(settings or OxiaServerSettings(session_ttl_min_ms=TTL_MS), faults=faults)
    await server.start()
    harness = OxiaHarness(server, **client)
    try:
        yield harness
    finally:
        server.faults = NoFaults()
        await harness.close()
        await server.stop()
        assert server.tasks.failures == 0
        assert not server.poisoned
