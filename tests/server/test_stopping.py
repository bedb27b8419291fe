"""Graceful shutdown: requested during work, during cleanup, and twice."""

import asyncio
import signal
import subprocess
import sys

import pytest

from dray.server.stopping import Stop
from dray.testing.virtual_loop import run, virtual_loop

STUCK = """
import asyncio, uvloop
from dray.server.stopping import exit_at_once, stop_on_signals

async def main():
    with stop_on_signals(exit_at_once) as stop:
        print("up", flush=True)
        await stop.wait()
        print("requested", flush=True)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.Event().wait()

uvloop.run(main())
"""


def test_second_signal_exits_a_server_that_hangs() -> None:
    with subprocess.Popen([sys.executable, "-c", STUCK], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "requested\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 1


async def _slow(seconds: float, journal: list[str]) -> str:
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        await asyncio.sleep(1)
        journal.append(f"cleaned up at {virtual_loop().time():g}")
        raise
    return "done"


@pytest.mark.parametrize(
    ("stop_at", "expected", "cleaned_up"),
    [(0.0, None, ["cleaned up at 1"]), (3.0, None, ["cleaned up at 4"]), (7.0, "done", [])],
)
def test_stop_request_cancels_the_work(stop_at: float, expected: str | None, cleaned_up: list[str]) -> None:
    async def main() -> None:
        stop, journal = Stop(), list[str]()
        virtual_loop().call_at(stop_at, stop.request)
        assert await stop.unless_requested(_slow(5, journal)) == expected
        assert journal == cleaned_up
        await stop.wait()

    run(main())


def test_timeout_of_the_work_itself_propagates() -> None:
    async def late() -> None:
        await asyncio.sleep(1)
        raise TimeoutError("its own")

    async def main() -> None:
        stop = Stop()
        with pytest.raises(TimeoutError, match="its own"):
            await stop.unless_requested(late())
        stop.request()
        await stop.wait()

    run(main())


def test_work_after_a_stop_request_is_cancelled() -> None:
    async def main() -> None:
        stop = Stop()
        stop.request()
        assert await stop.unless_requested(_slow(5, [])) is None

    run(main())
