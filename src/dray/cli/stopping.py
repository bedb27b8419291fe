"""Being told to stop by Ctrl-C or SIGTERM, for commands that have something to finish.

The first signal asks. The second one is a KeyboardInterrupt wherever the command is, also in a write that
blocks, so that nobody has to reach for SIGKILL. A process that serves does not even tidy up then, because
that is what it was waiting with: it ends, as it may at any moment.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from dray.cli.failure import EXIT_FAILED

T = TypeVar("T")


class Stop:
    """Whether this process was told to stop, and what is to be done then."""

    def __init__(self) -> None:
        self.asked = False
        self.quiet = False
        """Whether whoever asked wants nothing said about it."""
        self._action: Callable[[], None] | None = None

    def then(self, action: Callable[[], None]) -> None:
        """Call this when told to stop; at once if that was already."""
        self._action = action
        if self.asked:
            action()

    async def wait(self) -> None:
        """Return once told to stop."""
        told = asyncio.Event()
        self.then(told.set)
        await told.wait()

    async def unless_asked(self, work: Awaitable[T]) -> T | None:
        """Return what comes of `work`, or nothing if told to stop before; it has been cancelled then."""
        loop, patience = asyncio.get_running_loop(), asyncio.timeout(None)
        try:
            async with patience:
                self.then(lambda: patience.reschedule(loop.time()))
                return await work
        except TimeoutError:
            if not patience.expired():
                raise
            return None
        finally:
            self.then(lambda: None)

    def ask(self) -> None:
        if not self.asked:
            self.asked = True
            if self._action is not None:
                self._action()


def interrupt() -> None:
    raise KeyboardInterrupt


def end_process() -> None:
    os._exit(EXIT_FAILED)


@contextmanager
def stop_on_signals(again: Callable[[], None] = interrupt) -> Iterator[Stop]:
    """Turn signals into a `Stop` inside the running loop of the main thread; the second one calls `again`."""
    stop, loop = Stop(), asyncio.get_running_loop()
    signalled = False

    def on_signal(_: int, __: FrameType | None) -> None:
        nonlocal signalled
        if signalled:
            again()
        signalled = True
        loop.call_soon_threadsafe(stop.ask)

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
