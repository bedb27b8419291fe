"""Background thread for calls that do not return to Python, so that the main thread still handles signals.

The caller may be interrupted at any line and must never block the thread. So the two share no lock, only
queues, where each operation is atomic; the outcome of an interrupted call is discarded. A signal that arrives
just before a wait would not end it, so the caller waits in short steps.
"""

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final, TypeVar

T = TypeVar("T")
_MOMENT_S: Final = 0.1


class BackgroundThread:
    """Runs one call after the other until it is stopped. For one caller at a time."""

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[Callable[[], Future[Any]] | None] = SimpleQueue()
        self._outcomes: SimpleQueue[Future[Any]] = SimpleQueue()
        self._thread = Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def run(self, call: Callable[[], T], while_waiting: Callable[[], None] = lambda: None) -> T:
        """Return what the call returns; `while_waiting` is called repeatedly until it does.

        Interrupted calls of earlier callers finish first.
        """
        wanted: Future[T] = Future()
        self._calls.put(partial(_completed, wanted, call))
        while True:
            try:
                if self._outcomes.get(timeout=_MOMENT_S) is wanted:
                    return wanted.result()
            except Empty:
                while_waiting()

    def stop(self) -> None:
        """Wait for all calls and for the thread to end."""
        self._calls.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (work := self._calls.get()) is not None:
            self._outcomes.put(work())


def _completed(outcome: "Future[T]", call: Callable[[], T]) -> "Future[T]":
    try:
        outcome.set_result(call())
    except BaseException as error:  # noqa: BLE001 - raised in the caller
        outcome.set_exception(error)
    return outcome
