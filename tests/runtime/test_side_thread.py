"""A thread for calls that do not come back to Python."""

import threading
from threading import Event

import pytest

from dray.runtime import SideThread


def test_calls_are_made_there_and_what_they_raise_is_raised_here() -> None:
    side = SideThread("beside")
    assert side.run(lambda: threading.current_thread().name) == "beside"
    with pytest.raises(ZeroDivisionError):
        side.run(lambda: 1 // 0)
    assert side.run(lambda: 7) == 7
    side.stop()
    assert not any(thread.name == "beside" for thread in threading.enumerate())


def test_a_caller_that_was_interrupted_leaves_nothing_to_the_next() -> None:
    side, go_on = SideThread("beside"), Event()

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        side.run(lambda: go_on.wait() and "left", meanwhile=interrupt)
    assert side.run(lambda: "wanted", meanwhile=go_on.set) == "wanted"
    side.stop()
