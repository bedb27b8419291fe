"""Background thread for calls that do not return to Python."""

import threading
from threading import Event

import pytest

from dray.runtime import BackgroundThread


def test_calls_run_in_the_thread_and_their_errors_reach_the_caller() -> None:
    background = BackgroundThread("background")
    assert background.run(lambda: threading.current_thread().name) == "background"
    with pytest.raises(ZeroDivisionError):
        background.run(lambda: 1 // 0)
    assert background.run(lambda: 7) == 7
    background.stop()
    assert not any(thread.name == "background" for thread in threading.enumerate())


def test_outcome_of_an_interrupted_call_is_discarded() -> None:
    background, proceed = BackgroundThread("background"), Event()

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        background.run(lambda: proceed.wait() and "left", while_waiting=interrupt)
    assert background.run(lambda: "wanted", while_waiting=proceed.set) == "wanted"
    background.stop()
