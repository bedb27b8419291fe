"""Stores for synchronous code: an object store, or a whole cluster, on an event loop in a background thread.

Requests proceed while the caller computes, and repeated queries share one open store. Open and close them in
the process that uses them, after any fork.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from types import TracebackType
from typing import Any, TypeVar

from dray.objects.port import ObjectStore
from dray.runtime import LoopThread
from dray.scan.access import ClusterAccess, OpenCluster, StorageAccess

T = TypeVar("T")


class BlockingStore:
    """An object store that is open for the duration of a `with`."""

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
        """Start a call; `result` of the future waits for it."""
        assert self._loop is not None
        return self._loop.begin(call)

    def cancel(self) -> None:
        """Cancel the calls in progress; waiting for one raises `CancelledError`."""
        assert self._loop is not None
        self._loop.cancel()

    async def _open(self) -> ObjectStore:
        return await self._access()


class BlockingCluster:
    """A cluster that is open until it is closed."""

    def __init__(self, access: ClusterAccess) -> None:
        """Open the cluster; after an error of `access` there is nothing to close."""
        self._access = access
        self._opened: Future[tuple[OpenCluster, asyncio.Event]] = Future()
        self._loop = LoopThread("dray-cluster")
        try:
            self._running = self._loop.begin(self._keep_open())
            self._cluster, self._done = self._opened.result()
        except BaseException:
            self._loop.stop()
            raise

    def call(self, function: Callable[[OpenCluster], Awaitable[T]]) -> T:
        """Call a function with the open cluster and wait for its result."""

        async def called() -> T:
            return await function(self._cluster)

        return self._loop.begin(called()).result()

    def close(self) -> None:
        """Close the stores."""
        try:
            self._loop.begin(_set(self._done)).result()
            self._running.result()
        finally:
            self._loop.stop()

    async def _keep_open(self) -> None:
        """Open and close in the same task, as cancel scopes require."""
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
