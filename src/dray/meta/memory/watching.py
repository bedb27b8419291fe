"""Following the changes of a memory server through a link that may fail."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Self

from dray.meta.memory.server import MemoryMetaServer
from dray.meta.port import ChangeBatch, Domain, Position, Unavailable

Ask = Callable[[Callable[[], ChangeBatch]], Awaitable[ChangeBatch]]


class MemoryWatch(AsyncIterator[ChangeBatch]):
    """The batches of one watch. It asks again when woken, or when a session may have run out."""

    def __init__(
        self, server: MemoryMetaServer, woken: asyncio.Event, ask: Ask, domain: Domain, prefix: str
    ) -> None:
        self._server = server
        self._woken = woken
        self._ask = ask
        self._domain = domain
        self._prefix = prefix
        self._position: Position | None = None
        self._told_first = False
        self._ended = False
        self._store_closed = False

    def start_after(self, position: Position | None) -> Self:
        self._position = position
        return self

    def end(self, *, store_closed: bool = False) -> None:
        """Let whoever waits for a batch go."""
        self._store_closed = store_closed and not self._ended
        self._ended = True
        self._woken.set()

    async def __anext__(self) -> ChangeBatch:
        while True:
            self._require_open()
            # Cleared before asking: a change that comes with or after the answer sets it again.
            self._woken.clear()
            batch = await self._ask(self._request())
            self._position = batch.position
            if batch.changes or batch.gap or not self._told_first:
                self._told_first = True
                return batch
            await self._wait()

    def _request(self) -> Callable[[], ChangeBatch]:
        if self._position is None:
            return self._server.no_changes
        return partial(self._server.changes, self._domain, self._prefix, self._position)

    def _require_open(self) -> None:
        if self._store_closed:
            raise Unavailable("the metadata store was closed while it was watched")
        if self._ended:
            raise StopAsyncIteration

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._server.next_expiry()):
                await self._woken.wait()
        except TimeoutError:
            return
