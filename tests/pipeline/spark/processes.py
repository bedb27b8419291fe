"""Which processes there are below one, read from the kernel."""

import os
import time
from collections.abc import Callable
from pathlib import Path

WAIT_S = 20.0


def below(pid: int) -> set[int]:
    """Return the process, its children, theirs, and so on."""
    found = {pid}
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            found |= below(int(child))
    return found


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def all_gone(pids: set[int]) -> bool:
    """Whether all have ended; those that are just about to are waited for."""
    return becomes_true(lambda: not any(map(alive, pids)))


def becomes_true(condition: Callable[[], bool], within_s: float = WAIT_S) -> bool:
    """Look again and again, for a bounded time: another process gives no sign that could be awaited."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
