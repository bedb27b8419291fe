"""Cleanup of the soak's child processes when it is interrupted.

Leaving each `with` block would end most of them, but may take too long: a process pool waits for the seeds it
has started. And a signal may arrive right after a process was spawned, before any variable refers to it. So
the list of children comes from the kernel.
"""

import atexit
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path


def kill_children_on_exit() -> None:
    """Kill all child processes on SIGTERM, SIGINT or any other exit of this process.

    SIGINT needs a handler because a shell makes background processes ignore it.
    """
    atexit.register(kill_children)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: _exit())


def kill_children() -> None:
    for pid in children():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def children() -> list[int]:
    """Return the processes that any thread of this one has started."""
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # the thread has just ended
            found += map(int, (task / "children").read_text().split())
    return found


def _exit() -> None:
    kill_children()
    sys.exit(1)
