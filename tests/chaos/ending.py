"""How the soak is broken off: whoever tells it to end finds none of its processes left.

Leaving a `with` would do for most of them, if nobody lost patience meanwhile: a pool waits for the seeds that
it has begun. And a signal may come just when a process has been made and nobody knows of it yet. So the
system is asked who there is.
"""

import atexit
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path


def end_with_children() -> None:
    """From now on a signal to end, like any other end of this process, kills those that it has started.

    SIGINT too: a shell has those ignore it that it runs in the background.
    """
    atexit.register(kill_children)
    for told in (signal.SIGTERM, signal.SIGINT):
        signal.signal(told, lambda *_: _end())


def kill_children() -> None:
    for pid in children():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def children() -> list[int]:
    """Return the processes that this one has started, in whichever thread."""
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # a thread that has just ended
            found += map(int, (task / "children").read_text().split())
    return found


def _end() -> None:
    kill_children()
    sys.exit(1)
