"""The order to strike: who, how, and at which point of a compaction.

Whoever comes to the point strikes, itself or another process, so the moment is exact; the stores and all
else are the real ones. The order is a file that need not be there. One process takes it, and says so in a
second file before it strikes.
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

from tests.chaos.compaction.kin import below, command, parent

SELF = "self"
WORKERS = ("worker", "workers", "daemon")
"""Of Spark's Python processes: one that works, all that do, these and the one that makes them."""
WORKER_PROGRAM = "tests.chaos.compaction.doomed_workers"
_NEVER = "never"
"""A point that nobody comes to: an order for it stands for none."""
_FIRST_S = 0.01
"""What anything is thought to take before it was timed."""


class Order(NamedTuple):
    """At the point, after so many passes, send the signal to the target."""

    point: str
    passes: int = 0
    target: str = SELF
    signal: int = signal.SIGKILL

    def give(self, path: Path) -> None:
        path.with_suffix(".struck").unlink(missing_ok=True)
        draft = path.with_suffix(".draft")
        draft.write_text(f"{self.passes} {self.target} {int(self.signal)} {self.point}")
        draft.rename(path)  # whoever finds it finds all of it

    def take_back(self, path: Path) -> bool:
        """Have it not carried out, if that has not just happened; returns whether."""
        if struck(path) is not None:
            return False
        self._replace(point=_NEVER).give(path)
        return True

    @classmethod
    def take(cls, path: Path) -> Self | None:
        """Return the order if it is there; no other process gets it then."""
        mine = path.with_suffix(f".{os.getpid()}")
        try:
            path.rename(mine)
        except FileNotFoundError:
            return None
        passes, target, number, point = mine.read_text().split(" ", 3)
        mine.unlink()
        return cls(point, int(passes), target, int(number))


def struck(path: Path) -> str | None:
    """Return whom an order has hit, or None while it has not been carried out."""
    try:
        return path.with_suffix(".struck").read_text()
    except FileNotFoundError:
        return None


class Doom:
    """Carries out orders, one after the other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._order: Order | None = None
        self._left = 0
        self._took_s: dict[str, float] = {}

    @contextmanager
    def around(self, what: str) -> Iterator[None]:
        """Let it happen before, after or in the middle of something that takes a while."""
        if self._is_at(f"before {what}"):
            self._strike()
        if self._is_at(f"in {what}"):
            delay = Random().uniform(0, self._took_s.get(what, _FIRST_S))
            threading.Timer(delay, self._strike).start()
        started = monotonic()
        yield
        self._took_s[what] = monotonic() - started
        if self._is_at(f"after {what}"):
            self._strike()

    def _is_at(self, point: str) -> bool:
        if (order := Order.take(self._path)) is not None:
            self._order, self._left = order, order.passes
        if self._order is None or self._order.point != point:
            return False
        self._left -= 1
        return self._left < 0

    def _strike(self) -> None:
        order, self._order = self._order, None
        if order is None:
            return  # another thread has just done it
        targets = _targets(order.target)
        draft = self._path.with_suffix(".striking")
        draft.write_text(" ".join(map(str, targets)))
        draft.rename(self._path.with_suffix(".struck"))
        for pid in targets:
            os.kill(pid, order.signal)


def _targets(target: str) -> list[int]:
    if target == SELF:
        return [os.getpid()]
    if target not in WORKERS:
        return [int(target)]
    daemons, workers = workers_below(os.getpid())
    if target == "daemon":
        return daemons + workers
    return workers if target == "workers" else workers[:1]


def workers_below(pid: int) -> tuple[list[int], list[int]]:
    """Return Spark's Python processes of a compactor: those that make workers, and the workers."""
    pids = sorted(pid for pid in below(pid) if WORKER_PROGRAM in command(pid))
    daemons = [pid for pid in pids if parent(pid) not in pids]
    return daemons, [pid for pid in pids if pid not in daemons]
