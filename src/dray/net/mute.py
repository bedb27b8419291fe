"""Limits of a connection while its client is throttled, or has not authenticated yet.

A throttled client gets the response that says so; then for some time the socket is not read, and no request
is begun or answered. Afterwards, until a request is answered without throttling, the socket is read only
while no request waits, so that the client holds little memory. The same holds for a client whose requests are
limited because it is not authenticated yet.
"""

import asyncio
from collections.abc import Callable

from dray.runtime import Clock, Tasks


class Mute:
    """Mutes one connection for some time, then calls `ended`."""

    __slots__ = ("_clock", "_ended", "_limited_since", "_tasks", "_timer", "_until", "active", "throttled")

    def __init__(self, clock: Clock, tasks: Tasks, ended: Callable[[], None]) -> None:
        self._clock = clock
        self._tasks = tasks
        self._ended = ended
        self._timer: asyncio.Task[None] | None = None
        self._until = 0.0
        self._limited_since: float | None = None
        self.active = False
        self.throttled = False
        """Whether the last request that was answered has throttled the client."""

    def begin(self, seconds: float) -> None:
        """Mute the connection for so long, or for longer if it is muted already."""
        self._until = max(self._until, self._clock.monotonic() + seconds)
        self.active = True
        if self._timer is None:
            self._timer = self._tasks.start(self._wait(), name="connection-muted")

    def end(self) -> None:
        """End the mute now, without a call of `ended`."""
        self.active = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def limit(self, *, is_limited: bool) -> None:
        """Begin or end the limits of a client that has to authenticate."""
        self._limited_since = self._clock.monotonic() if is_limited else None

    def is_limited_since(self, moment: float) -> bool:
        """Return whether the client has been limited since then, or longer."""
        return self._limited_since is not None and self._limited_since <= moment

    def holds_back(self, *, idle: bool) -> bool:
        """Return whether the client may not send now; `idle` says that none of its requests waits."""
        return self.active or ((self.throttled or self._limited_since is not None) and not idle)

    async def _wait(self) -> None:
        while (left := self._until - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)
        self._timer, self.active = None, False
        self._ended()
