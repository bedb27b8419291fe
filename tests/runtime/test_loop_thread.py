"""Event loop in a thread, for code that does not await."""

import asyncio
import threading
from concurrent.futures import CancelledError

import pytest

from dray.runtime import LoopThread


def test_calls_run_until_the_loop_is_stopped() -> None:
    loop = LoopThread("background")
    waiting = loop.begin(asyncio.Event().wait())

    async def name() -> str:
        return threading.current_thread().name

    assert loop.begin(name()).result(10) == "background"
    loop.stop()
    with pytest.raises(CancelledError):
        waiting.result(10)
    assert not any(thread.name == "background" for thread in threading.enumerate())


def test_cancel_ends_pending_calls_but_not_the_loop() -> None:
    loop = LoopThread("background")
    waiting = loop.begin(asyncio.Event().wait())
    loop.cancel()
    with pytest.raises(CancelledError):
        waiting.result(10)
    assert loop.begin(asyncio.sleep(0, "well")).result(10) == "well"
    loop.stop()


def test_failure_to_create_the_loop_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> asyncio.AbstractEventLoop:
        raise OSError("too many open files")

    monkeypatch.setattr(asyncio, "new_event_loop", refuse)
    monkeypatch.setattr(asyncio.events, "new_event_loop", refuse)
    loop = LoopThread("background")
    with pytest.raises(OSError, match="too many open files"):
        loop.stop()
