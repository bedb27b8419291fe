"""Failpoints of compaction: kill or stop a process when a compactor reaches a point of its work.

The process that reaches the point sends the signal, to itself or to another process, so the moment is exact;
stores and everything else are the real ones. A trigger is armed by a file, which exactly one process takes;
that process writes a second file just before it sends the signal.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from time import monotonic
from typing import NamedTuple, Self

from tests.chaos.compaction.process_tree import command, descendants, parent

SELF = "self"
WORKERS = ("worker", "workers", "daemon")
"""Targets among Spark's Python processes: one worker, all workers, or all of them and the forking daemon."""
WORKER_PROGRAM = "tests.chaos.compaction.instrumented_workers"
_NEVER = "never"
"""A point that is never reached: arming it disarms."""
_FIRST_S = 0.01
"""Assumed duration of an operation before the first was measured."""


class Trigger(NamedTuple):
    """Send the signal to the target at the point, after passing it so many times."""

    point: str
    passes: int = 0
    target: str = SELF
    signal: int = signal.SIGKILL

    def arm(self, path: Path) -> None:
        path.with_suffix(".fired").unlink(missing_ok=True)
        draft = path.with_suffix(".draft")
        draft.write_text(f"{self.passes} {self.target} {int(self.signal)} {self.point}")
        draft.rename(path)  # atomically: no process must read half of it

    def disarm(self, path: Path) -> bool:
        """Disarm it; returns False if it has fired already."""
        if fired(path) is not None:
            return False
        self._replace(point=_NEVER).arm(path)
        return True

    @classmethod
    def take(cls, path: Path) -> Self | None:
        """Take the armed trigger, if there is one, so that no other process does."""
        mine = path.with_suffix(f".{os.getpid()}")
        try:
            path.rename(mine)
        except FileNotFoundError:
            return None
        passes, target, number, point = mine.read_text().split(" ", 3)
        mine.unlink()
        return cls(point, int(passes), target, int(number))


def fired(path: Path) -> str | None:
    """Return the pids that a trigger has signalled, or None if it has not fired."""
    try:
        return path.with_suffix(".fired").read_text()
    except FileNotFoundError:
        return None


class Failpoints:
    """Fires the triggers armed at one path, one after the other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._trigger: Trigger | None = None
        self._left = 0
        self._took_s: dict[str, float] = {}

    @contextmanager
    def around(self, what: str) -> Iterator[None]:
        """Provide the failpoints before, in the middle of and after an operation."""
        if self._is_reached(f"before {what}"):
            self._fire()
        if self._is_reached(f"in {what}"):
            delay = Random().uniform(0, self._took_s.get(what, _FIRST_S))
            threading.Timer(delay, self._fire).start()
        started = monotonic()
        yield
        self._took_s[what] = monotonic() - started
        if self._is_reached(f"after {what}"):
            self._fire()

    def _is_reached(self, point: str) -> bool:
        if (trigger := Trigger.take(self._path)) is not None:
            self._trigger, self._left = trigger, trigger.passes
        if self._trigger is None or self._trigger.point != point:
            return False
        self._left -= 1
        return self._left < 0

    def _fire(self) -> None:
        trigger, self._trigger = self._trigger, None
        if trigger is None:
            return  # another thread has just fired it
        targets = _targets(trigger.target)
        draft = self._path.with_suffix(".firing")
        draft.write_text(" ".join(map(str, targets)))
        draft.rename(self._path.with_suffix(".fired"))
        for pid in targets:
            os.kill(pid, trigger.signal)


def _targets(target: str) -> list[int]:
    if target == SELF:
        return [os.getpid()]
    if target not in WORKERS:
        return [int(target)]
    daemons, workers = spark_processes(os.getpid())
    if target == "daemon":
        return daemons + workers
    return workers if target == "workers" else workers[:1]


def spark_processes(compactor: int) -> tuple[list[int], list[int]]:
    """Return the pids of a compactor's Python daemons, which fork workers, and of its Python workers."""
    pids = sorted(pid for pid in descendants(compactor) if WORKER_PROGRAM in command(pid))
    daemons = [pid for pid in pids if parent(pid) not in pids]
    return daemons, [pid for pid in pids if pid not in daemons]
