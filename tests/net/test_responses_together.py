"""Responses that are ready together leave in one write, in order; one that is large or alone is not held."""

import asyncio
from collections.abc import Sequence

from typing_extensions import override

from dray.api.exchange import CloseConnection, EncodedResponse
from dray.net import ListenerSpec, NetMetrics, NetSettings, SocketServer
from dray.net.limits import Slot
from dray.net.spec import ClientAddress
from dray.observe import Metrics
from dray.runtime import Tasks
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop
from tests.net.serving import HOST, Script, framed


class Refusing(Script):
    """Closes the connection instead of answering some requests."""

    @override
    async def _answer(self, payload: bytes) -> EncodedResponse:
        if payload == b"refused":
            raise CloseConnection("it cannot be answered")
        return await super()._answer(payload)


class RecordingTransport(asyncio.Transport):
    """A transport that keeps what each call wrote, and whether it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.aborted = False

    @override
    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.aborted
        self.writes.append(bytes(data))

    @override
    def writelines(self, list_of_data: object) -> None:
        assert isinstance(list_of_data, Sequence)
        self.write(b"".join(list_of_data))

    @override
    def get_extra_info(self, name: str, default: object = None) -> object:
        return (HOST, 1) if name == "peername" else default

    @override
    def is_closing(self) -> bool:
        return self.aborted

    @override
    def is_reading(self) -> bool:
        return True

    @override
    def pause_reading(self) -> None: ...

    @override
    def abort(self) -> None:
        self.aborted = True


def answered(requests: bytes) -> RecordingTransport:
    """Let a connection receive requests in one piece; returns its transport once they are answered."""

    async def body() -> RecordingTransport:
        tasks = Tasks()
        metrics = NetMetrics.on(Metrics())
        clock = VirtualClock(virtual_loop())
        server = SocketServer(settings=NetSettings(), clock=clock, tasks=tasks, metrics=metrics)
        server._requests = Refusing()
        connection, transport = (
            server._connection(ListenerSpec("", 0), ClientAddress("127.0.0.1", 1), Slot(lambda: None)),
            RecordingTransport(),
        )
        connection.connection_made(transport)
        connection.get_buffer(-1)[: len(requests)] = requests
        connection.buffer_updated(len(requests))
        await asyncio.sleep(1)
        await tasks.stop()
        return transport

    return run(body())


def test_responses_of_requests_that_arrive_together_are_one_write() -> None:
    transport = answered(b"".join(framed(b"%d" % number) for number in range(9)))
    assert transport.writes == [b"".join(framed(b"%d" % number) for number in range(9))]


def test_large_responses_are_not_gathered() -> None:
    large = framed(b"x" * 100_000)
    transport = answered(framed(b"first") + large + framed(b"last"))
    assert transport.writes == [framed(b"first") + large, framed(b"last")]


def test_responses_before_one_that_closes_the_connection_are_sent() -> None:
    transport = answered(framed(b"first") + framed(b"second") + framed(b"refused"))
    assert transport.aborted
    assert transport.writes == [framed(b"first") + framed(b"second")]
