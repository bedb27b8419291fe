"""Graceful shutdown on Ctrl-C or SIGTERM, for commands that have work to finish.

The first signal requests it. The second one raises KeyboardInterrupt wherever the command is, also in a write
that blocks, so that SIGKILL is never needed. A broker or compactor then exits at once, without cleaning up,
which is safe at any time.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from dray.server.errors import EXIT_FAILED

T = TypeVar("T")


class Stop:
    """A request to shut down, and what to do when it comes."""

    def __init__(self) -> None:
        self.requested = False
        self.quiet = False
        """Whether to log nothing about it."""
        self._action: Callable[[], None] | None = None
        self._subscribers: list[Callable[[], object]] = []

    def subscribe(self, action: Callable[[], object]) -> None:
        """Call `action` on a request, in addition to the command's own action."""
        self._subscribers.append(action)
        if self.requested:
            action()

    def on_request(self, action: Callable[[], None]) -> None:
        """Call `action` on a request; at once if there has been one."""
        self._action = action
        if self.requested:
            action()

    async def wait(self) -> None:
        """Return on a request."""
        requested = asyncio.Event()
        self.on_request(requested.set)
        await requested.wait()

    async def unless_requested(self, work: Awaitable[T]) -> T | None:
        """Return the result of `work`; on a request, cancel it and return None."""
        loop, timeout = asyncio.get_running_loop(), asyncio.timeout(None)
        try:
            async with timeout:
                self.on_request(lambda: timeout.reschedule(loop.time()))
                return await work
        except TimeoutError:
            if not timeout.expired():
                raise
            return None
        finally:
            self.on_request(lambda: None)

    def request(self) -> None:
        if not self.requested:
            self.requested = True
            for action in self._subscribers:
                action()
            if self._action is not None:
                self._action()


def interrupt() -> None:
    raise KeyboardInterrupt


def exit_at_once() -> None:
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
        loop.call_soon_threadsafe(stop.request)

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
