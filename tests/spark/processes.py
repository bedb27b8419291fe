"""Process trees, read from the kernel."""

import os
import time
from collections.abc import Callable
from pathlib import Path

WAIT_S = 20.0


def descendants(pid: int) -> set[int]:
    """Return the process and all its descendants."""
    found = {pid}
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            found |= descendants(int(child))
    return found


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def all_exited(pids: set[int]) -> bool:
    """Whether all have exited; waits for a bounded time."""
    return becomes_true(lambda: not any(map(alive, pids)))


def becomes_true(condition: Callable[[], bool], within_s: float = WAIT_S) -> bool:
    """Poll for a bounded time: another process sends no signal that could be awaited."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
