"""An event loop for code that does not await: it runs in a thread beside it, so calls go on meanwhile."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """A loop that runs until it is stopped. Made in the process that uses it, after any fork."""

    def __init__(self, name: str) -> None:
        self._started: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def begin(self, call: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start a call; the future's `result` waits for it."""
        return asyncio.run_coroutine_threadsafe(call, self._started.result())

    def cancel(self) -> None:
        """Cancel the calls that are under way, without waiting for them to end."""
        loop = self._started.result()
        loop.call_soon_threadsafe(_cancel_all, loop)

    def stop(self) -> None:
        """End the loop and wait for its thread; calls that are under way are cancelled."""
        loop = self._started.result()
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        runner = asyncio.Runner()
        try:
            loop = runner.get_loop()
        except OSError as error:  # too many open files
            self._started.set_exception(error)
            return
        with runner:
            self._started.set_result(loop)
            loop.run_forever()


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()
