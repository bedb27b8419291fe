"""The owner's side of a session, shared by all adapters.

The owner must stop trusting its ephemeral keys before another process may take them over. So a renewal counts
from the moment it was *requested*, the lease is measured with the owner's monotonic clock, and an expired
lease stays expired: a renewal that succeeds later does not revive it.
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
    """The adapter's operations on a session. Each makes one attempt and may raise `MetaError`."""

    renew: Callable[[SessionId], Awaitable[bool]]
    """Returns false if the store no longer has the session."""
    end: Callable[[SessionId], Awaitable[None]]


class LeasedSession:
    """A `Session`, once it has been started."""

    def __init__(
        self, session: SessionId, ttl_ms: int, opened_at: float, clock: Clock, calls: SessionCalls
    ) -> None:
        self._id = session
        self._ttl_s = ttl_ms / 1000
        self._expires_at = opened_at + self._ttl_s
        self._clock = clock
        self._calls = calls
        self._lost = asyncio.Event()
        self._closed = False
        self._renewing: asyncio.Task[None] | None = None

    def start(self, tasks: Tasks) -> None:
        """Renew the lease from now on."""
        self._renewing = tasks.start(self._keep_alive(), name=f"renew session {self._id}")

    def stop_renewing(self) -> None:
        """Let the session expire in the store."""
        if self._renewing is not None:
            self._renewing.cancel()

    @property
    def id(self) -> SessionId:
        return self._id

    @property
    def alive(self) -> bool:
        if self._clock.monotonic() >= self._expires_at:
            self._lost.set()
        return not self._lost.is_set()

    async def wait_lost(self) -> None:
        while self.alive:
            remaining = self._expires_at - self._clock.monotonic()
            try:
                async with asyncio.timeout(max(remaining, 0.001)):
                    await self._lost.wait()
            except TimeoutError:
                continue

    def invalidate(self) -> None:
        """Consider the session lost from now on, without a request to the store."""
        self._lost.set()
        self.stop_renewing()

    async def close(self) -> None:
        self.invalidate()
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
        requested_at = self._clock.monotonic()
        try:
            known = await self._calls.renew(self._id)
        except MetaError:
            return False
        if not known:
            self._lost.set()
        elif self.alive:
            self._expires_at = requested_at + self._ttl_s
        return known
