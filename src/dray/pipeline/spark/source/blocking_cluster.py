"""A cluster for code that does not await and asks again and again: its event loop runs in a thread beside it.

Spark keeps one process for a streaming query and asks it at every trigger; opening the stores each time would
cost more than the answer. Made and closed in the process that uses it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

from dray.pipeline.spark.access import ClusterAccess, OpenCluster

T = TypeVar("T")


class BlockingCluster:
    """A cluster that is open until it is closed."""

    def __init__(self, access: ClusterAccess) -> None:
        self._access = access
        self._opened: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, OpenCluster]] = Future()
        self._thread = Thread(target=self._serve, name="dray-cluster", daemon=True)
        self._thread.start()

    def ask(self, question: Callable[[OpenCluster], Awaitable[T]]) -> T:
        """Wait for an answer; raises what opening the cluster raised."""
        loop, _, cluster = self._opened.result()

        async def asked() -> T:
            return await question(cluster)

        return asyncio.run_coroutine_threadsafe(asked(), loop).result()

    def close(self) -> None:
        """Let go of the stores. One that could not be opened needs no closing."""
        if self._opened.exception() is None:
            loop, done, _ = self._opened.result()
            loop.call_soon_threadsafe(done.set)
        self._thread.join()

    def _serve(self) -> None:
        try:
            asyncio.run(self._open())
        except BaseException as error:
            if self._opened.done():
                raise
            self._opened.set_exception(error)

    async def _open(self) -> None:
        async with self._access() as cluster:
            done = asyncio.Event()
            self._opened.set_result((asyncio.get_running_loop(), done, cluster))
            await done.wait()
