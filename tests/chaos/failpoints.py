"""Failpoints of the write path: a `dray` that kills itself, `python -m tests.chaos.failpoints ARMED up …`.

ARMED is the path of a file that arms a failpoint once it exists: it names the point and how often to pass it
first. So kill -9 hits points that random moments rarely hit; stores and everything else are the real ones.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from time import monotonic
from typing import Literal, get_args

from typing_extensions import Buffer

from dray.cli.main import main as dray
from dray.ids import Domain
from dray.keyspace import stream_of_head_key
from dray.meta.port import Check, Conflict, Put, Versions, Write
from dray.meta.sqlite import SqliteMetaStore
from dray.objects.metered import Metered

Point = Literal["before put", "in put", "after put", "before commit", "in commit", "after commit"]
POINTS: tuple[Point, ...] = get_args(Point)
_FIRST_S = 0.004
"""Assumed duration of a put or a commit before the first was measured."""


class Failpoints:
    """Kills the process at the failpoint that is armed."""

    def __init__(self, armed: Path) -> None:
        self._armed = armed
        self._point = ""
        self._left = 0
        self._took_s: dict[str, float] = {}

    def fires(self, point: str) -> bool:
        """Whether to die now; must be called exactly once each time the point is passed."""
        if not self._point and self._armed.exists():
            left, self._point = self._armed.read_text().split(" ", 1)
            self._left = int(left)
            self._armed.unlink()
        if point != self._point:
            return False
        self._left -= 1
        return self._left < 0

    @contextmanager
    def around(self, what: Literal["put", "commit"]) -> Iterator[None]:
        """Provide the failpoints before, in the middle of and after an operation."""
        if self.fires(f"before {what}"):
            _die()
        if self.fires(f"in {what}"):
            delay = Random().uniform(0, self._took_s.get(what, _FIRST_S))
            threading.Timer(delay, _die).start()
        started = monotonic()
        yield
        self._took_s[what] = monotonic() - started
        if self.fires(f"after {what}"):
            _die()


def arm(armed: Path, point: Point, passes: int) -> None:
    draft = armed.with_suffix(".draft")
    draft.write_text(f"{passes} {point}")
    draft.rename(armed)  # atomically: the process must not read half of it


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def instrument_puts(failpoints: Failpoints) -> None:
    put = Metered.put_new

    async def put_new(self: Metered, path: str, parts: Sequence[Buffer]) -> None:
        with failpoints.around("put"):
            await put(self, path, parts)

    Metered.put_new = put_new  # type: ignore[method-assign]  # the point of it


def instrument_commits(failpoints: Failpoints) -> None:
    plain = SqliteMetaStore.commit

    async def commit(
        self: SqliteMetaStore, domain: Domain, checks: Sequence[Check], writes: Sequence[Write]
    ) -> Versions | Conflict:
        if not any(isinstance(write, Put) and stream_of_head_key(write.key) is not None for write in writes):
            return await plain(self, domain, checks, writes)
        with failpoints.around("commit"):
            return await plain(self, domain, checks, writes)

    SqliteMetaStore.commit = commit  # type: ignore[method-assign]  # the point of it


def run() -> None:
    """Run the command in `sys.argv`, which follows the path of the arming file."""
    failpoints = Failpoints(Path(sys.argv.pop(1)))
    instrument_puts(failpoints)
    instrument_commits(failpoints)
    dray()


if __name__ == "__main__":
    run()
