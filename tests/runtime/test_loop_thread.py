"""A loop beside code that does not await."""

import asyncio
import threading
from concurrent.futures import CancelledError

import pytest

from dray.runtime import LoopThread


def test_it_answers_until_it_is_stopped() -> None:
    loop = LoopThread("beside")
    waiting = loop.begin(asyncio.Event().wait())

    async def name() -> str:
        return threading.current_thread().name

    assert loop.begin(name()).result(10) == "beside"
    loop.stop()
    with pytest.raises(CancelledError):
        waiting.result(10)
    assert not any(thread.name == "beside" for thread in threading.enumerate())


def test_what_is_under_way_can_be_cancelled_and_the_loop_goes_on() -> None:
    loop = LoopThread("beside")
    waiting = loop.begin(asyncio.Event().wait())
    loop.cancel()
    with pytest.raises(CancelledError):
        waiting.result(10)
    assert loop.begin(asyncio.sleep(0, "well")).result(10) == "well"
    loop.stop()


def test_a_loop_that_cannot_be_made_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> asyncio.AbstractEventLoop:
        raise OSError("too many open files")

    monkeypatch.setattr(asyncio, "new_event_loop", refuse)
    monkeypatch.setattr(asyncio.events, "new_event_loop", refuse)
    loop = LoopThread("beside")
    with pytest.raises(OSError, match="too many open files"):
        loop.stop()
