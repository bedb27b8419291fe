"""Ctrl-C ends a statement that DuckDB is busy with."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from threading import Event, Thread
from typing import Any, TypeVar

import duckdb
import pytest

from dray.pipeline.sql.interrupting import Interruptible, interruptible
from dray.runtime import LoopThread

T = TypeVar("T")
_ENDLESS = "SELECT sum(hash(a.range + b.range)) FROM range(10000000) a, range(10000000) b"


@pytest.fixture(autouse=True)
def _heard() -> Iterator[None]:
    """A shell that starts a program in the background has it ignore Ctrl-C."""
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


def test_ctrl_c_before_the_wait_for_a_statement_ends_it_too() -> None:
    begun = Event()
    with duckdb.connect() as connection:
        beside = _InterruptedOnce(begun)
        duck = Interruptible(connection, beside, _nothing)
        with pytest.raises(KeyboardInterrupt):
            duck.run(_endless(connection, begun))
        assert duck.run(lambda: connection.execute("SELECT 7").fetchall()) == [(7,)]
        beside.stop()


def test_leaving_ends_a_statement_that_is_under_way() -> None:
    begun = Event()
    with duckdb.connect() as connection:
        beside = LoopThread("test-sql")
        answer = beside.begin(_call(_endless(connection, begun)))
        begun.wait()
        Interruptible(connection, beside, _nothing).stop()
        assert isinstance(answer.exception(), duckdb.InterruptException)
        beside.stop()


def test_what_a_statement_waits_for_is_let_go() -> None:
    """DuckDB does not hear of an interrupt while it waits for rows."""
    store, begun = LoopThread("test-store"), Event()

    def rows() -> object:
        waiting = store.begin(asyncio.Event().wait())
        begun.set()
        return waiting.result()

    with duckdb.connect() as connection:
        beside = _InterruptedOnce(begun)
        with pytest.raises(KeyboardInterrupt):
            Interruptible(connection, beside, store.cancel).run(rows)
        beside.stop()
    store.stop()


def test_what_fails_is_raised_as_it_is() -> None:
    with (
        duckdb.connect() as connection,
        interruptible(connection, _nothing) as duck,
        pytest.raises(duckdb.ConversionException, match="'x'"),
    ):
        duck.run(lambda: connection.execute("SELECT 'x'::int").fetchall())


class _InterruptedOnce(LoopThread):
    """Ctrl-C comes when the first call has begun and its future is not in anybody's hands yet."""

    def __init__(self, begun: Event) -> None:
        super().__init__("test-sql")
        self._begun = begun

    def begin(self, call: Coroutine[Any, Any, T]) -> "Future[T]":
        first = not self._begun.is_set()
        future = super().begin(call)
        if first:
            self._begun.wait()
            raise KeyboardInterrupt
        return future


def _nothing() -> None: ...


def _endless(connection: duckdb.DuckDBPyConnection, begun: Event) -> Callable[[], object]:
    def endless() -> object:
        begun.set()
        return connection.execute(_ENDLESS).fetchall()

    return endless


async def _call(call: Callable[[], object]) -> object:
    return call()
