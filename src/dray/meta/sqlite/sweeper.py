"""Ending the sessions of processes that have died.

Every process looks at all sessions. A session whose beat has stayed the same for its time to live, by this
process's monotonic clock, is ended; the end names the beat, so a renewal that comes first wins. The owner
counted from before it asked for that beat, so it has stopped trusting the session by then.
"""

from collections.abc import Awaitable, Callable
from typing import cast

import apsw

from dray.meta.port import MetaError, SessionId
from dray.meta.sqlite.reader import Reader
from dray.meta.sqlite.requests import EndSession
from dray.meta.sqlite.schema import rows
from dray.runtime import Clock


class Sweeper:
    """Remembers since when each session's beat has been the same."""

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
        for session, beat, ttl_ms in sessions:
            known, since = before.get(session, (None, now))
            self._seen[session] = (beat, since if known == beat else now)
            if now - self._seen[session][1] >= ttl_ms / 1000:
                expired.append(EndSession(session, beat))
        return expired


def _sessions(db: apsw.Connection) -> list[tuple[SessionId, int, int]]:
    return cast("list[tuple[SessionId, int, int]]", rows(db, "SELECT id, beat, ttl_ms FROM sessions"))
