"""Errors of binding an address: one sentence with a remedy, the same under every event loop."""

import asyncio
import errno
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from dray.api.exchange import Finish, Peer
from dray.net import CannotListen, ListenerSpec, NetMetrics, NetSettings, SocketServer, bind_error_message
from dray.observe import Metrics
from dray.runtime import SystemClock, Tasks

Run = Callable[[Coroutine[Any, Any, None]], None]
LOOPS: list[Run] = [asyncio.run, uvloop.run]
IN_USE = "address already in use; stop the process that uses it, or choose another address"
NOT_LOCAL = "not an address of this machine; choose one that is, or 0.0.0.0 for all"


class _Unused:
    """Requests of a listener that no client connects to."""

    async def begin(self, frame: memoryview, peer: Peer) -> Finish:
        raise AssertionError((frame, peer))

    def drain(self) -> None: ...


def server(tasks: Tasks) -> SocketServer:
    return SocketServer(
        settings=NetSettings(), clock=SystemClock(), tasks=tasks, metrics=NetMetrics.on(Metrics())
    )


def refused(host: str, port: int, run: Run) -> str:
    async def bind() -> None:
        await server(Tasks()).bind(ListenerSpec(host, port))

    with pytest.raises(CannotListen) as raised:
        run(bind())
    return str(raised.value)


@pytest.mark.parametrize("run", LOOPS)
def test_port_in_use_cannot_be_bound(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert refused("127.0.0.1", port, run) == f"cannot listen on 127.0.0.1:{port}: {IN_USE}"


@pytest.mark.parametrize("run", LOOPS)
def test_address_of_another_machine_cannot_be_bound(run: Run) -> None:
    assert refused("192.0.2.7", 0, run) == f"cannot listen on 192.0.2.7:0: {NOT_LOCAL}"


@pytest.mark.parametrize("run", LOOPS)
def test_unknown_host_name_cannot_be_bound(run: Run) -> None:
    message = refused("unknown.invalid", 9092, run)
    assert message.startswith("cannot listen on unknown.invalid:9092: unknown host name (")


@pytest.mark.parametrize("run", LOOPS)
def test_two_listeners_may_bind_an_address_but_only_the_first_may_listen(run: Run) -> None:
    """The system refuses the second one only when it listens."""

    async def both() -> None:
        tasks = Tasks()
        first, second = server(tasks), server(tasks)
        port = await first.bind(ListenerSpec("127.0.0.1", 0))
        await second.bind(ListenerSpec("127.0.0.1", port))
        await first.serve(_Unused())
        try:
            with pytest.raises(CannotListen) as raised:
                await second.serve(_Unused())
            assert str(raised.value) == f"cannot listen on 127.0.0.1:{port}: {IN_USE}"
        finally:  # the loop does not end while a server is open
            await first.stop()
            await second.stop()
            await tasks.stop()

    run(both())


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            OSError(errno.EACCES, "error while attempting to bind"),
            "permission denied; choose a port",
        ),
        (OSError(errno.EMFILE, "x"), "Too many open files; choose another address"),
        (OSError("no number"), "no number; choose another address"),
    ],
)
def test_other_errors_show_the_message_of_the_system(error: OSError, reason: str) -> None:
    shown = bind_error_message(error, "::1", 80, " for HTTP")
    assert shown.startswith(f"cannot listen on [::1]:80 for HTTP: {reason}")
