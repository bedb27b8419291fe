"""Ctrl-C during a DuckDB query.

Python handles a signal when its main thread runs Python code, and a statement may stay in DuckDB for hours.
So DuckDB runs in a background thread while the main thread waits, and is interrupted when that is.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import duckdb

from dray.runtime import BackgroundThread

T = TypeVar("T")


class Interruptible:
    """A connection and the thread in which it runs; created by `interruptible`."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, thread: BackgroundThread, cancel: Callable[[], None]
    ) -> None:
        self.connection = connection
        self._thread = thread
        self._cancel = cancel

    def run(self, call: Callable[[], T]) -> T:
        """Run a call that uses DuckDB, and return its result."""
        try:
            return self._thread.run(call)
        except KeyboardInterrupt:
            self.stop()
            raise

    def stop(self) -> None:
        """Interrupt DuckDB and return once it is idle."""
        self._thread.run(lambda: None, while_waiting=self._interrupt)

    def _interrupt(self) -> None:
        self.connection.interrupt()  # repeatedly: a statement that has not started yet is not interrupted
        self._cancel()


@contextmanager
def interruptible(
    connection: duckdb.DuckDBPyConnection, cancel: Callable[[], None]
) -> Iterator[Interruptible]:
    """Run a connection in a thread of its own, for the duration of a `with`.

    `cancel` ends reads that DuckDB waits for when interrupted, such as those of a store that does not
    respond.
    """
    thread = BackgroundThread("dray-sql")
    duck = Interruptible(connection, thread, cancel)
    try:
        yield duck
    finally:
        duck.stop()
        thread.stop()
