"""Ctrl-C while DuckDB computes.

Python hears of a signal when its main thread is in Python, and a statement may be in DuckDB for hours. So
DuckDB works in a thread beside, and the main one waits; when that is interrupted, DuckDB is told to stop.
The interrupt may come at any line, also before the main thread has a future to wait for: whether DuckDB has
stopped is asked of the thread itself, which does one thing after the other. A signal that comes just before
the main thread waits wakes nobody, so it waits a moment at a time.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from typing import Final, TypeVar

import duckdb

from dray.runtime import LoopThread

T = TypeVar("T")
_MOMENT_S: Final = 0.1


class Interruptible:
    """A connection, and a thread in which it works; made by `interruptible`."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, beside: LoopThread, let_go: Callable[[], None]
    ) -> None:
        self.connection = connection
        self._beside = beside
        self._let_go = let_go

    def run(self, call: Callable[[], T]) -> T:
        """Return what a call returns that has DuckDB work; one at a time."""
        try:
            answer = self._beside.begin(_made(call))
            while wait([answer], _MOMENT_S).not_done:
                pass
            return answer.result()
        except KeyboardInterrupt:
            self.stop()
            raise

    def stop(self) -> None:
        """Return when DuckDB does nothing any more, and see to it that this is soon."""
        idle = self._beside.begin(_made(lambda: None))
        while wait([idle], _MOMENT_S).not_done:  # DuckDB forgets that it was told if it had not begun yet
            self.connection.interrupt()
            self._let_go()


@contextmanager
def interruptible(
    connection: duckdb.DuckDBPyConnection, let_go: Callable[[], None]
) -> Iterator[Interruptible]:
    """Have a connection work in a thread of its own, for the time of a `with`.

    `let_go` ends what DuckDB may be waiting for when it is to stop, such as a store that does not answer.
    """
    beside = LoopThread("dray-sql")
    duck = Interruptible(connection, beside, let_go)
    try:
        yield duck
    finally:
        duck.stop()
        beside.stop()


async def _made(call: Callable[[], T]) -> T:
    return call()
