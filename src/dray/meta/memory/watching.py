"""Watches of the memory server, through a link that may fail."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

from dray.ids import Domain
from dray.meta.memory.server import MemoryMetaServer
from dray.meta.port import ChangeBatch, Position, Unavailable
from dray.meta.watching import Syncs

Receive = Callable[[Callable[[], ChangeBatch]], Awaitable[ChangeBatch]]
"""Sends a request for changes and returns the response."""


class MemoryWatch(AsyncIterator[ChangeBatch]):
    """The batches of one watch. It sends a request when woken, or when a session may have expired.

    `begin` sends the first request, which must not lag; `receive` all others.
    """

    def __init__(
        self,
        server: MemoryMetaServer,
        woken: asyncio.Event,
        domain: Domain,
        prefix: str,
        *,
        begin: Receive,
        receive: Receive,
    ) -> None:
        self._server = server
        self._woken = woken
        self._begin = begin
        self._receive = receive
        self._domain = domain
        self._prefix = prefix
        self._position: Position | None = None
        self._has_begun = False
        self._ended = False
        self._syncs = Syncs()
        self._is_idle = False
        """Whether the reader waits for changes, and has handled all up to the position."""
        self._store_closed = False

    def start_after(self, position: Position | None) -> None:
        self._position = position

    def end(self, *, store_closed: bool = False) -> None:
        """End the watch, and wake its reader."""
        self._store_closed = store_closed and not self._ended
        self._ended = True
        self._woken.set()
        self._syncs.end()

    async def sync(self) -> bool:
        position = (await self._begin(self._server.no_changes)).position
        if self._ended:
            return False
        if self._is_idle and self._position is not None and position <= self._position:
            return True
        self._woken.set()
        return await self._syncs.wait(position)

    async def __anext__(self) -> ChangeBatch:
        while True:
            self._require_open()
            if self._position is not None and self._has_begun:
                self._syncs.handled(self._position)
            # Cleared before the request: a change during or after the response sets it again.
            self._woken.clear()
            send = self._receive if self._has_begun else self._begin
            batch = await send(self._request())
            self._position = batch.position
            if batch.changes or batch.gap or not self._has_begun:
                self._has_begun = True
                return batch
            self._syncs.handled(batch.position)
            self._is_idle = True
            try:
                await self._wait()
            finally:
                self._is_idle = False

    def _request(self) -> Callable[[], ChangeBatch]:
        if self._position is None:
            return self._server.no_changes
        return partial(self._server.changes, self._domain, self._prefix, self._position)

    def _require_open(self) -> None:
        if self._store_closed:
            raise Unavailable("the metadata store was closed during the watch")
        if self._ended:
            raise StopAsyncIteration

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._server.next_expiry()):
                await self._woken.wait()
        except TimeoutError:
            return
