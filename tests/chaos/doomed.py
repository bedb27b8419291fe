"""A `dray` that kills itself at a point of the write path: `python -m tests.chaos.doomed ORDER up …`.

ORDER is a file that need not be there. Once it is, it names a point and how many times that point is to be
passed before the end. So kill -9 hits points that random moments seldom do; the stores and everything else
are the real ones.
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
from dray.index import stream_of_head_key
from dray.meta.port import Check, Conflict, Domain, Put, Versions, Write
from dray.meta.sqlite import SqliteMetaStore
from dray.objects.metered import Metered

Point = Literal["before put", "in put", "after put", "before commit", "in commit", "after commit"]
POINTS: tuple[Point, ...] = get_args(Point)
_FIRST_S = 0.004
"""What a put or a commit is thought to take before one was timed."""


class Doom:
    """The order to die, once it is given."""

    def __init__(self, order: Path) -> None:
        self._order = order
        self._point = ""
        self._left = 0
        self._took_s: dict[str, float] = {}

    def at(self, point: str) -> bool:
        """Whether the end has come; to be asked once each time the point is passed."""
        if not self._point and self._order.exists():
            left, self._point = self._order.read_text().split(" ", 1)
            self._left = int(left)
            self._order.unlink()
        if point != self._point:
            return False
        self._left -= 1
        return self._left < 0

    @contextmanager
    def around(self, what: Literal["put", "commit"]) -> Iterator[None]:
        """Let the end come before, after or in the middle of something that takes a while."""
        if self.at(f"before {what}"):
            _die()
        if self.at(f"in {what}"):
            delay = Random().uniform(0, self._took_s.get(what, _FIRST_S))
            threading.Timer(delay, _die).start()
        started = monotonic()
        yield
        self._took_s[what] = monotonic() - started
        if self.at(f"after {what}"):
            _die()


def give_order(order: Path, point: Point, passes: int) -> None:
    draft = order.with_suffix(".draft")
    draft.write_text(f"{passes} {point}")
    draft.rename(order)  # whoever finds it finds all of it


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def aim_at_puts(doom: Doom) -> None:
    put = Metered.put_new

    async def put_new(self: Metered, path: str, parts: Sequence[Buffer]) -> None:
        with doom.around("put"):
            await put(self, path, parts)

    Metered.put_new = put_new  # type: ignore[method-assign]  # the point of it


def aim_at_commits(doom: Doom) -> None:
    plain = SqliteMetaStore.commit

    async def commit(
        self: SqliteMetaStore, domain: Domain, checks: Sequence[Check], writes: Sequence[Write]
    ) -> Versions | Conflict:
        if not any(isinstance(write, Put) and stream_of_head_key(write.key) is not None for write in writes):
            return await plain(self, domain, checks, writes)
        with doom.around("commit"):
            return await plain(self, domain, checks, writes)

    SqliteMetaStore.commit = commit  # type: ignore[method-assign]  # the point of it


def run() -> None:
    """Run the command of this process, behind the name of the file with the order."""
    doom = Doom(Path(sys.argv.pop(1)))
    aim_at_puts(doom)
    aim_at_commits(doom)
    dray()


if __name__ == "__main__":
    run()
