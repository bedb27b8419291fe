"""Check that a session never expires in the store while its owner runs and still relies on it."""

from collections.abc import Callable

from dray.meta.leased_session import LeasedSession
from dray.meta.memory import Link, MemoryMetaServer, MemoryMetaSettings, MemoryMetaStore, Receive
from dray.meta.port import SessionId
from dray.runtime import Clock, Entropy, Tasks
from dray.testing.nodes import CURRENT_INCARNATION, Incarnation


class SessionServer(MemoryMetaServer):
    """The metadata server; reports sessions that it ends while their owners consider them alive."""

    def __init__(self, clock: Clock, violate: Callable[[str], None]) -> None:
        super().__init__(clock)
        self._violate = violate
        self._opened: dict[SessionId, tuple[LeasedSession, Incarnation]] = {}

    def opened(self, session: LeasedSession, owner: Incarnation) -> None:
        """Remember the owner's side of a session."""
        self._opened[session.id] = session, owner

    def end_session(self, session: SessionId) -> None:
        opened = self._opened.pop(session, None)
        if opened is not None and opened[1].state == "alive" and opened[0].alive:
            self._violate(f"G7: session {session} has ended, but its owner considers it alive")
        super().end_session(session)


class ObservedMetaStore(MemoryMetaStore):
    """A client of the server that reports the sessions it has opened."""

    def __init__(
        self,
        server: SessionServer,
        clock: Clock,
        entropy: Entropy,
        *,
        tasks: Tasks,
        settings: MemoryMetaSettings,
        link: Link,
        feed: Receive | None = None,
    ) -> None:
        super().__init__(server, clock, entropy, tasks=tasks, settings=settings, link=link, feed=feed)
        self._session_server = server

    async def session(self, ttl_ms: int) -> LeasedSession:
        leased = await super().session(ttl_ms)
        owner = CURRENT_INCARNATION.get()
        assert owner is not None
        self._session_server.opened(leased, owner)
        return leased
