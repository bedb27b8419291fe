"""The time for which the connection of a throttled client is muted."""

import asyncio
from collections.abc import Callable

from dray.runtime import Clock, Tasks


class Mute:
    """Mutes one connection for some time, then calls `ended`."""

    __slots__ = ("_clock", "_ended", "_tasks", "_timer", "_until", "active")

    def __init__(self, clock: Clock, tasks: Tasks, ended: Callable[[], None]) -> None:
        self._clock = clock
        self._tasks = tasks
        self._ended = ended
        self._timer: asyncio.Task[None] | None = None
        self._until = 0.0
        self.active = False

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

    async def _wait(self) -> None:
        while (left := self._until - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)
        self._timer, self.active = None, False
        self._ended()
