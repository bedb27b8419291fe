"""Concurrent calls with a bound, hedged calls, and an event loop in a thread for code that does not await."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")
U = TypeVar("U")


async def gather_bounded(work: Callable[[T], Awaitable[U]], items: Iterable[T], at_once: int) -> list[U]:
    """Return the results in order. The first failure is raised, after all other calls have ended."""
    limit = asyncio.Semaphore(at_once)

    async def one(item: T) -> U:
        async with limit:
            return await work(item)

    calls = [asyncio.ensure_future(one(item)) for item in items]
    try:
        return await asyncio.gather(*calls)
    finally:
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


async def hedged(attempt: Callable[[], Awaitable[T]], after_s: float, on: tuple[type[Exception], ...]) -> T:
    """Return the first result of several attempts: another one begins whenever none has ended for `after_s`.

    An attempt that raises one of `on` is forgotten while others are running; the error of the last one is
    raised. No attempt outlives the call.
    """
    running: list[asyncio.Future[T]] = []
    try:
        while True:
            running.append(asyncio.ensure_future(attempt()))
            while await _one_ends(running, after_s):
                for one in [one for one in running if one.done()]:
                    running.remove(one)
                    try:
                        return one.result()
                    except on:
                        if not running:
                            raise
    finally:
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _one_ends(running: Iterable["asyncio.Future[T]"], within_s: float) -> bool:
    done, _ = await asyncio.wait(running, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
    return bool(done)


class LoopThread:
    """An event loop in a thread of its own. Created in the process that uses it, after any fork."""

    def __init__(self, name: str) -> None:
        self._started: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def begin(self, call: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start a call; the future's `result` waits for it."""
        return asyncio.run_coroutine_threadsafe(call, self._started.result())

    def cancel(self) -> None:
        """Cancel the pending calls, without waiting for them to end."""
        loop = self._started.result()
        loop.call_soon_threadsafe(_cancel_all, loop)

    def stop(self) -> None:
        """Stop the loop and wait for its thread; pending calls are cancelled."""
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
