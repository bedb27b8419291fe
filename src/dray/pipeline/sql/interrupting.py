"""Ctrl-C while DuckDB computes.

Python hears of a signal when its main thread is in Python, and a statement may be in DuckDB for hours. So
DuckDB works in a thread beside, and the main one waits; when that is interrupted, DuckDB is told to stop.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import duckdb

from dray.runtime import SideThread

T = TypeVar("T")


class Interruptible:
    """A connection, and a thread in which it works; made by `interruptible`."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, beside: SideThread, let_go: Callable[[], None]
    ) -> None:
        self.connection = connection
        self._beside = beside
        self._let_go = let_go

    def run(self, call: Callable[[], T]) -> T:
        """Return what a call returns that has DuckDB work."""
        try:
            return self._beside.run(call)
        except KeyboardInterrupt:
            self.stop()
            raise

    def stop(self) -> None:
        """Return when DuckDB does nothing any more, and see to it that this is soon."""
        self._beside.run(lambda: None, meanwhile=self._tell)

    def _tell(self) -> None:
        self.connection.interrupt()  # again and again: what has not begun yet does not hear it
        self._let_go()


@contextmanager
def interruptible(
    connection: duckdb.DuckDBPyConnection, let_go: Callable[[], None]
) -> Iterator[Interruptible]:
    """Have a connection work in a thread of its own, for the time of a `with`.

    `let_go` ends what DuckDB may be waiting for when it is to stop, such as a store that does not answer.
    """
    beside = SideThread("dray-sql")
    duck = Interruptible(connection, beside, let_go)
    try:
        yield duck
    finally:
        duck.stop()
        beside.stop()
