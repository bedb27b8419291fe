"""Being told to stop: while something starts, while something is tidied up, and twice."""

import asyncio
import signal
import subprocess
import sys

import pytest

from dray.cli.stopping import Stop
from dray.testing.virtual_loop import run, virtual_loop

STUCK = """
import asyncio, uvloop
from dray.cli.stopping import end_process, stop_on_signals

async def main():
    with stop_on_signals(end_process) as stop:
        print("up", flush=True)
        await stop.wait()
        print("asked", flush=True)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.Event().wait()

uvloop.run(main())
"""


def test_the_second_signal_ends_a_server_that_is_stuck() -> None:
    with subprocess.Popen([sys.executable, "-c", STUCK], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "asked\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 1


async def _slow(seconds: float, journal: list[str]) -> str:
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        await asyncio.sleep(1)
        journal.append(f"tidied up at {virtual_loop().time():g}")
        raise
    return "done"


@pytest.mark.parametrize(
    ("stop_at", "expected", "tidied"),
    [(0.0, None, ["tidied up at 1"]), (3.0, None, ["tidied up at 4"]), (7.0, "done", [])],
)
def test_work_is_given_up_when_told_to_stop(stop_at: float, expected: str | None, tidied: list[str]) -> None:
    async def main() -> None:
        stop, journal = Stop(), list[str]()
        virtual_loop().call_at(stop_at, stop.ask)
        assert await stop.unless_asked(_slow(5, journal)) == expected
        assert journal == tidied
        await stop.wait()

    run(main())


def test_what_the_work_raises_is_raised() -> None:
    async def late() -> None:
        await asyncio.sleep(1)
        raise TimeoutError("its own")

    async def main() -> None:
        stop = Stop()
        with pytest.raises(TimeoutError, match="its own"):
            await stop.unless_asked(late())
        stop.ask()
        await stop.wait()

    run(main())


def test_told_before_it_begins() -> None:
    async def main() -> None:
        stop = Stop()
        stop.ask()
        assert await stop.unless_asked(_slow(5, [])) is None

    run(main())
