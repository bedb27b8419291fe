"""Threads for calls that block, a bounded number under one name.

A call that was made cannot be taken back. A caller who is cancelled leaves it running, and `stop` waits for
it; so a call must own everything it touches.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class ThreadsStopped(RuntimeError):
    """A call came after `Threads.stop`; it was not made."""


class Threads:
    """Runs blocking calls in at most `size` threads, in the order they came."""

    def __init__(self, name: str, size: int) -> None:
        self._name = name
        self._pool = ThreadPoolExecutor(size, thread_name_prefix=name)
        self._calls: set[asyncio.Future[Any]] = set()
        self._stopped = False

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call it in a thread, with the caller's context variables, and return what it returns."""
        if self._stopped:
            raise ThreadsStopped(f"the threads of {self._name} have been stopped")
        context = copy_context()
        outcome = asyncio.get_running_loop().run_in_executor(
            self._pool, lambda: context.run(call, *args, **kwargs)
        )
        self._calls.add(outcome)
        outcome.add_done_callback(self._ended)
        return await asyncio.shield(outcome)

    async def stop(self) -> None:
        """Refuse new calls, wait for those made, end the threads."""
        self._stopped = True
        if self._calls:
            await asyncio.wait(set(self._calls))
        self._pool.shutdown()

    def _ended(self, outcome: asyncio.Future[Any]) -> None:
        self._calls.discard(outcome)
        if not outcome.cancelled():
            outcome.exception()  # whoever still waits gets it; if nobody does, it is nobody's
