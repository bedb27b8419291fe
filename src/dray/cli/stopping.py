"""Being told to stop by Ctrl-C or SIGTERM, for commands that have something to finish.

The first signal asks. The second one is a KeyboardInterrupt wherever the command is, also in a write that
blocks, so that nobody has to reach for SIGKILL.
"""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Stop:
    """Whether this process was told to stop, and what is to be done then."""

    def __init__(self) -> None:
        self.asked = False
        self._action: Callable[[], None] | None = None

    def then(self, action: Callable[[], None]) -> None:
        """Call this when told to stop; at once if that was already."""
        self._action = action
        if self.asked:
            action()

    def ask(self) -> None:
        if not self.asked:
            self.asked = True
            if self._action is not None:
                self._action()


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Turn signals into a `Stop` inside the running loop of the main thread."""
    stop, loop = Stop(), asyncio.get_running_loop()
    signalled = False

    def on_signal(_: int, __: FrameType | None) -> None:
        nonlocal signalled
        if signalled:
            raise KeyboardInterrupt
        signalled = True
        loop.call_soon_threadsafe(stop.ask)

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
