"""A session as its owner sees it, for every adapter.

The owner must stop trusting its ephemeral keys before anybody else may take them over. So a renewal counts
from the moment it was *asked for*, the lease is measured with the owner's own monotonic clock, and a lease
that has lapsed stays lapsed: a renewal that gets through afterwards does not bring it back.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from dray.meta.port import MetaError, SessionId
from dray.runtime import Clock, Tasks

_RENEWALS_PER_TTL = 3
_RETRIES_PER_TTL = 10


@dataclass(frozen=True, slots=True)
class SessionCalls:
    """What an adapter can do for a session. Each call makes one attempt and may raise `MetaError`."""

    renew: Callable[[SessionId], Awaitable[bool]]
    """False when the store no longer knows the session."""
    end: Callable[[SessionId], Awaitable[None]]


class KeptSession:
    """A `Session`, once it has been started."""

    def __init__(
        self, session: SessionId, ttl_ms: int, opened_at: float, clock: Clock, calls: SessionCalls
    ) -> None:
        self._id = session
        self._ttl_s = ttl_ms / 1000
        self._good_until = opened_at + self._ttl_s
        self._clock = clock
        self._calls = calls
        self._lost = asyncio.Event()
        self._closed = False
        self._keeping: asyncio.Task[None] | None = None

    def start(self, tasks: Tasks) -> None:
        """Keep the lease alive from now on."""
        self._keeping = tasks.start(self._keep_alive(), name=f"keep session {self._id} alive")

    def abandon(self) -> None:
        """Stop renewing; the store will end the session when its time is up."""
        if self._keeping is not None:
            self._keeping.cancel()

    @property
    def id(self) -> SessionId:
        return self._id

    @property
    def alive(self) -> bool:
        if self._clock.monotonic() >= self._good_until:
            self._lost.set()
        return not self._lost.is_set()

    async def wait_lost(self) -> None:
        while self.alive:
            remaining = self._good_until - self._clock.monotonic()
            try:
                async with asyncio.timeout(max(remaining, 0.001)):
                    await self._lost.wait()
            except TimeoutError:
                continue

    def give_up(self) -> None:
        """Stop renewing and stop trusting the session, without telling the store."""
        self._lost.set()
        self.abandon()

    async def close(self) -> None:
        self.give_up()
        if not self._closed:
            await self._calls.end(self._id)
            self._closed = True

    async def _keep_alive(self) -> None:
        pause = self._ttl_s / _RENEWALS_PER_TTL
        while await self._still_alive_after(pause):
            renewed = await self._renew()
            pause = self._ttl_s / (_RENEWALS_PER_TTL if renewed else _RETRIES_PER_TTL)

    async def _still_alive_after(self, seconds: float) -> bool:
        await self._clock.sleep(seconds)
        return self.alive

    async def _renew(self) -> bool:
        asked_at = self._clock.monotonic()
        try:
            known = await self._calls.renew(self._id)
        except MetaError:
            return False
        if not known:
            self._lost.set()
        elif self.alive:
            self._good_until = asked_at + self._ttl_s
        return known
