"""Stores for code that does not await: an object store, or a whole cluster, opened in a loop beside it.

So requests go on while the caller computes, and whoever asks again and again opens the stores once. Made and
closed in the process that uses it, after any fork.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from types import TracebackType
from typing import Any, TypeVar

from dray.objects.port import ObjectStore
from dray.pipeline.access import ClusterAccess, OpenCluster
from dray.runtime import LoopThread

T = TypeVar("T")

StorageAccess = Callable[[], Awaitable[ObjectStore]]
"""Opens the store that the log is in, tries again what may pass, and travels to the workers by pickle: a
function of a module that they can import, with its settings bound to it. Credentials travel in those, or are
found by the worker in its own surroundings."""


class BlockingStore:
    """A store that is open for the time of a `with`."""

    def __init__(self, access: StorageAccess) -> None:
        self._access = access
        self._loop: LoopThread | None = None
        self._store: ObjectStore | None = None

    def __enter__(self) -> "BlockingStore":
        self._loop = LoopThread("dray-store")
        try:
            self._store = self.begin(self._open()).result()
        except BaseException:
            self._loop.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._loop is not None
        try:
            self.begin(self.store.close()).result()
        finally:
            self._loop.stop()

    @property
    def store(self) -> ObjectStore:
        assert self._store is not None
        return self._store

    def begin(self, call: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start a call; the future's `result` waits for it."""
        assert self._loop is not None
        return self._loop.begin(call)

    def cancel(self) -> None:
        """Cancel the calls that are under way: whoever waits for one has `CancelledError`."""
        assert self._loop is not None
        self._loop.cancel()

    async def _open(self) -> ObjectStore:
        return await self._access()


class BlockingCluster:
    """A cluster that is open until it is closed."""

    def __init__(self, access: ClusterAccess) -> None:
        """Open it; raises what opening it raises, and then needs no closing."""
        self._access = access
        self._opened: Future[tuple[OpenCluster, asyncio.Event]] = Future()
        self._loop = LoopThread("dray-cluster")
        try:
            self._held = self._loop.begin(self._hold())
            self._cluster, self._done = self._opened.result()
        except BaseException:
            self._loop.stop()
            raise

    def ask(self, question: Callable[[OpenCluster], Awaitable[T]]) -> T:
        """Wait for an answer."""

        async def asked() -> T:
            return await question(self._cluster)

        return self._loop.begin(asked()).result()

    def close(self) -> None:
        """Let go of the stores."""
        try:
            self._loop.begin(_set(self._done)).result()
            self._held.result()
        finally:
            self._loop.stop()

    async def _hold(self) -> None:
        """Open and close in one task, as scopes of tasks want it."""
        try:
            async with self._access() as cluster:
                done = asyncio.Event()
                self._opened.set_result((cluster, done))
                await done.wait()
        except BaseException as error:
            if self._opened.done():
                raise
            self._opened.set_exception(error)


async def _set(event: asyncio.Event) -> None:
    event.set()
