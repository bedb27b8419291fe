"""Expiry of sessions whose processes have died.

Every process checks all sessions. A session whose heartbeat counter has not changed for its time to live, by
this process's monotonic clock, is ended; the request names the counter, so a concurrent renewal wins. The
owner counts from before it requested that heartbeat, so it has stopped trusting the session by then.
"""

from collections.abc import Awaitable, Callable
from typing import cast

import apsw

from dray.meta.port import MetaError, SessionId
from dray.meta.sqlite.reader import Reader
from dray.meta.sqlite.requests import EndSession
from dray.meta.sqlite.schema import rows
from dray.runtime import Clock


class SessionSweeper:
    """Remembers since when the counter of each session has not changed."""

    def __init__(self, reader: Reader, clock: Clock, end: Callable[[EndSession], Awaitable[object]]) -> None:
        self._reader = reader
        self._clock = clock
        self._end = end
        self._seen: dict[SessionId, tuple[int, float]] = {}

    async def sweep(self) -> None:
        try:
            sessions = await self._reader.quick(_sessions)
            for request in self._expired(sessions):
                await self._end(request)
        except MetaError:
            return  # the next sweep tries again

    def _expired(self, sessions: list[tuple[SessionId, int, int]]) -> list[EndSession]:
        now = self._clock.monotonic()
        before = self._seen
        self._seen = {}
        expired = []
        for session, heartbeats, ttl_ms in sessions:
            known, since = before.get(session, (None, now))
            self._seen[session] = (heartbeats, since if known == heartbeats else now)
            if now - self._seen[session][1] >= ttl_ms / 1000:
                expired.append(EndSession(session, heartbeats))
        return expired


def _sessions(db: apsw.Connection) -> list[tuple[SessionId, int, int]]:
    return cast("list[tuple[SessionId, int, int]]", rows(db, "SELECT id, heartbeats, ttl_ms FROM sessions"))
