"""Ctrl-C during a DuckDB statement."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from threading import Event, Thread

import duckdb
import pytest

from dray.runtime import BackgroundThread, LoopThread
from dray.sql.interrupting import Interruptible, interruptible

_ENDLESS = "SELECT sum(hash(a.range + b.range)) FROM range(10000000) a, range(10000000) b"


@pytest.fixture(autouse=True)
def _default_sigint() -> Iterator[None]:
    """Restore the default handler: programs that a shell starts in the background ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_a_statement_and_leaves_the_connection_usable() -> None:
    begun = Event()

    def interrupt() -> None:
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    with duckdb.connect() as connection, interruptible(connection, _nothing) as duck:
        interrupting = Thread(target=interrupt)
        interrupting.start()
        with pytest.raises(KeyboardInterrupt):
            duck.run(_endless(connection, begun))
        interrupting.join()
        assert duck.run(lambda: connection.execute("SELECT 7").fetchall()) == [(7,)]


def test_stop_ends_a_running_statement() -> None:
    """Even if the caller stopped waiting without interrupting it."""
    begun = Event()
    with duckdb.connect() as connection:
        side = BackgroundThread("test-sql")
        with pytest.raises(KeyboardInterrupt):
            side.run(_endless(connection, begun), while_waiting=_interrupt_once(begun))
        duck = Interruptible(connection, side, _nothing)
        duck.stop()
        assert duck.run(lambda: connection.execute("SELECT 7").fetchall()) == [(7,)]
        side.stop()


def test_stop_cancels_reads_that_a_statement_waits_for() -> None:
    """DuckDB does not notice an interrupt while it waits for rows."""
    store, side, begun = LoopThread("test-store"), BackgroundThread("test-sql"), Event()

    def rows() -> object:
        waiting = store.begin(asyncio.Event().wait())
        begun.set()
        return waiting.result()

    with duckdb.connect() as connection:
        with pytest.raises(KeyboardInterrupt):
            side.run(rows, while_waiting=_interrupt_once(begun))
        Interruptible(connection, side, store.cancel).stop()
    side.stop()
    store.stop()


def test_error_of_a_statement_propagates() -> None:
    with (
        duckdb.connect() as connection,
        interruptible(connection, _nothing) as duck,
        pytest.raises(duckdb.ConversionException, match="'x'"),
    ):
        duck.run(lambda: connection.execute("SELECT 'x'::int").fetchall())


def _nothing() -> None: ...


def _interrupt_once(begun: Event) -> Callable[[], None]:
    def interrupt() -> None:
        begun.wait()
        raise KeyboardInterrupt

    return interrupt


def _endless(connection: duckdb.DuckDBPyConnection, begun: Event) -> Callable[[], object]:
    def endless() -> object:
        begun.set()
        return connection.execute(_ENDLESS).fetchall()

    return endless
