"""Shutdown of a listener in virtual time: a client that reads is served, one that does not is cut early."""

import asyncio
from functools import partial

import pytest
from typing_extensions import override

from dray.api.exchange import EncodedResponse, Finish, Peer
from dray.net import ListenerSpec, NetMetrics, NetSettings, SocketServer
from dray.net.limits import Slot
from dray.net.spec import ClientAddress
from dray.observe import Metrics
from dray.runtime import Tasks
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop

MIB = 1 << 20
FETCHED = 50 * MIB
HIGH_WATER = 64 * 1024
TICK_SECONDS = 0.1
DRAIN_SECONDS = 10


class Fetches:
    """Answers every request with a large response."""

    async def begin(self, frame: memoryview, peer: Peer) -> Finish:
        return self._answer

    async def _answer(self) -> EncodedResponse:
        return [bytes(FETCHED)]

    def drain(self) -> None: ...


class SlowTransport(asyncio.Transport):
    """A transport whose client takes so many bytes in each tick, and closes after the last."""

    def __init__(self, protocol: asyncio.BufferedProtocol, bytes_per_tick: int) -> None:
        super().__init__()
        self.protocol = protocol
        self.received = 0
        self.closed_at: float | None = None
        self._per_tick = bytes_per_tick
        self._unsent = 0
        self._paused = self._ended = False
        virtual_loop().call_later(TICK_SECONDS, self._tick)

    def _tick(self) -> None:
        if self.closed_at is not None:
            return
        taken = min(self._per_tick, self._unsent)
        self._unsent -= taken
        self.received += taken
        if self._paused and self._unsent < HIGH_WATER:
            self._paused = False
            self.protocol.resume_writing()
        if self._ended and not self._unsent:
            self.abort()
        else:
            virtual_loop().call_later(TICK_SECONDS, self._tick)

    @override
    def writelines(self, list_of_data: object) -> None:
        self._unsent += sum(map(len, list_of_data))  # type: ignore[call-overload]
        if self._unsent > HIGH_WATER and not self._paused:
            self._paused = True
            self.protocol.pause_writing()

    @override
    def get_write_buffer_size(self) -> int:
        return self._unsent

    @override
    def get_extra_info(self, name: str, default: object = None) -> object:
        return default

    @override
    def is_closing(self) -> bool:
        return self.closed_at is not None

    @override
    def can_write_eof(self) -> bool:
        return True

    @override
    def write_eof(self) -> None:
        self._ended = True

    @override
    def is_reading(self) -> bool:
        return True

    @override
    def pause_reading(self) -> None: ...

    @override
    def abort(self) -> None:
        self.closed_at = virtual_loop().time()
        virtual_loop().call_soon(partial(self.protocol.connection_lost, None))


def stopped(bytes_per_tick: int) -> tuple[SlowTransport, float]:
    """Stop a listener while a client fetches; returns its transport, and when the stop began."""

    async def body() -> tuple[SlowTransport, float]:
        clock, tasks = VirtualClock(virtual_loop()), Tasks()
        settings = NetSettings(shutdown_drain_timeout_ms=DRAIN_SECONDS * 1000)
        server = SocketServer(settings=settings, clock=clock, tasks=tasks, metrics=NetMetrics.on(Metrics()))
        server._requests = Fetches()
        connection = server._connection(
            ListenerSpec("", 0), ClientAddress("127.0.0.1", 1), Slot(lambda: None)
        )
        transport = SlowTransport(connection, bytes_per_tick)
        connection.connection_made(transport)
        request = (4).to_bytes(4, "big") + b"read"
        connection.get_buffer(-1)[: len(request)] = request
        connection.buffer_updated(len(request))
        await clock.sleep(0.25)
        began = virtual_loop().time()
        await server.stop()
        await clock.sleep(1)
        await tasks.stop()
        return transport, began

    return run(body())


def test_client_that_keeps_reading_is_served() -> None:
    transport, _ = stopped(8 * MIB // 10)
    assert transport.received == FETCHED


def test_client_that_does_not_read_is_cut_early() -> None:
    transport, began = stopped(0)
    assert transport.closed_at is not None
    assert transport.closed_at - began <= 1.1


def test_client_that_reads_too_slowly_is_cut_after_the_drain_timeout() -> None:
    transport, began = stopped(1 * MIB // 10)
    assert transport.closed_at is not None
    assert transport.closed_at - began == pytest.approx(DRAIN_SECONDS, abs=0.2)
    assert 0 < transport.received < FETCHED
