"""A thread for calls that do not come back to Python, so that the main one still hears of signals.

Whoever waits may be interrupted at any line, and must leave nothing behind that holds up the thread. So the
two share no lock, only queues, whose every use is one step; an outcome that nobody waits for any more is
passed over. And a signal that comes just before a wait wakes nobody, so the wait is a moment at a time.
"""

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final, TypeVar

T = TypeVar("T")
_MOMENT_S: Final = 0.1


class SideThread:
    """Makes one call after the other, until it is stopped. For one caller at a time."""

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[Callable[[], Future[Any]] | None] = SimpleQueue()
        self._outcomes: SimpleQueue[Future[Any]] = SimpleQueue()
        self._thread = Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def run(self, call: Callable[[], T], meanwhile: Callable[[], None] = lambda: None) -> T:
        """Return what the call returns; `meanwhile` is called now and then until it does.

        Calls that a caller was interrupted in come first.
        """
        wanted: Future[T] = Future()
        self._calls.put(partial(_settled, wanted, call))
        while True:
            try:
                if self._outcomes.get(timeout=_MOMENT_S) is wanted:
                    return wanted.result()
            except Empty:
                meanwhile()

    def stop(self) -> None:
        """Wait for the calls that were made, and for the thread to end."""
        self._calls.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (work := self._calls.get()) is not None:
            self._outcomes.put(work())


def _settled(outcome: "Future[T]", call: Callable[[], T]) -> "Future[T]":
    try:
        outcome.set_result(call())
    except BaseException as error:  # noqa: BLE001 - raised where it is waited for
        outcome.set_exception(error)
    return outcome
