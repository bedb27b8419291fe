"""An object store for code that does not await: the store's event loop runs in a thread beside it.

So requests go on while the caller computes. Made and closed in the process that uses it, after any fork.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from threading import Thread
from types import TracebackType
from typing import Any, TypeVar

from dray.objects.port import ObjectStore

T = TypeVar("T")

StorageAccess = Callable[[], Awaitable[ObjectStore]]
"""Opens the store that the log is in, tries again what may pass, and travels to the workers by pickle: a
function of a module that they can import, with its settings bound to it. Credentials travel in those, or are
found by the worker in its own surroundings."""


class BlockingStore:
    """A store that was opened for the time of a `with`."""

    def __init__(self, access: StorageAccess) -> None:
        self._access = access
        self._started: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = Thread(target=self._serve, name="dray-store", daemon=True)
        self._store: ObjectStore | None = None

    def __enter__(self) -> "BlockingStore":
        self._thread.start()
        try:
            self._store = self.begin(self._open()).result()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.begin(self.store.close()).result()
        finally:
            self._end()

    @property
    def store(self) -> ObjectStore:
        assert self._store is not None
        return self._store

    def begin(self, call: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start a call; the future's `result` waits for it."""
        return asyncio.run_coroutine_threadsafe(call, self._started.result())

    async def _open(self) -> ObjectStore:
        return await self._access()

    def _serve(self) -> None:
        with asyncio.Runner() as runner:
            loop = runner.get_loop()
            self._started.set_result(loop)
            loop.run_forever()

    def _end(self) -> None:
        loop = self._started.result()
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
