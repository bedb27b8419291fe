"""An address that cannot be had: one sentence, the same under every event loop, and what to do."""

import asyncio
import errno
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from dray.api.exchange import Finish, Peer
from dray.net import CannotListen, Listener, NetMetrics, NetSettings, why_unbound
from dray.observe import Metrics
from dray.runtime import SystemClock, Tasks

Run = Callable[[Coroutine[Any, Any, None]], None]
LOOPS: list[Run] = [asyncio.run, uvloop.run]
IN_USE = "address already in use; stop what uses it, or choose another address"
NOT_OURS = "it is not an address of this machine; choose one that is, or 0.0.0.0 for all"


class _Nobody:
    """Is never asked."""

    async def begin(self, frame: memoryview, peer: Peer) -> Finish:
        raise AssertionError((frame, peer))


def listener(tasks: Tasks) -> Listener:
    return Listener(
        settings=NetSettings(), clock=SystemClock(), tasks=tasks, metrics=NetMetrics.on(Metrics())
    )


def refused(host: str, port: int, run: Run) -> str:
    async def bind() -> None:
        await listener(Tasks()).bind(host, port)

    with pytest.raises(CannotListen) as told:
        run(bind())
    return str(told.value)


@pytest.mark.parametrize("run", LOOPS)
def test_a_port_in_use(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert refused("127.0.0.1", port, run) == f"cannot listen on 127.0.0.1:{port}: {IN_USE}"


@pytest.mark.parametrize("run", LOOPS)
def test_an_address_of_another_machine(run: Run) -> None:
    assert refused("192.0.2.7", 0, run) == f"cannot listen on 192.0.2.7:0: {NOT_OURS}"


@pytest.mark.parametrize("run", LOOPS)
def test_a_name_that_nobody_knows(run: Run) -> None:
    told = refused("nobody.invalid", 9092, run)
    assert told.startswith("cannot listen on nobody.invalid:9092: the name is not known (")


@pytest.mark.parametrize("run", LOOPS)
def test_an_address_that_two_have_taken_is_the_first_ones_who_listens(run: Run) -> None:
    """Taking it is not enough for the system to keep others out."""

    async def both() -> None:
        tasks = Tasks()
        first, second = listener(tasks), listener(tasks)
        port = await first.bind("127.0.0.1", 0)
        await second.bind("127.0.0.1", port)
        await first.serve(_Nobody())
        try:
            with pytest.raises(CannotListen) as told:
                await second.serve(_Nobody())
            assert str(told.value) == f"cannot listen on 127.0.0.1:{port}: {IN_USE}"
        finally:  # a loop does not end while a server lives
            await first.stop()
            await second.stop()
            await tasks.stop()

    run(both())


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            OSError(errno.EACCES, "error while attempting to bind"),
            "permission denied; choose a port",
        ),
        (OSError(errno.EMFILE, "x"), "Too many open files; choose another address"),
        (OSError("no number"), "no number; choose another address"),
    ],
)
def test_other_reasons(error: OSError, told: str) -> None:
    shown = why_unbound(error, "::1", 80, " for HTTP")
    assert shown.startswith(f"cannot listen on [::1]:80 for HTTP: {told}")
