"""Muted connections in virtual time: what a throttled client's connection does, and does not do."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from typing_extensions import override

from dray.api.exchange import EncodedResponse, Finish, Peer
from dray.net import ListenerSpec, NetMetrics, SocketServer
from dray.net.connection import Connection
from dray.net.limits import Slot
from dray.net.spec import ClientAddress
from dray.observe import Metrics
from dray.runtime import Tasks
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop
from tests.net.serving import settings_of

SOON = 0.001


class Throttled:
    """Echoes requests, except `held`; `3 more` mutes the connection for 3 seconds when it is answered."""

    def __init__(self) -> None:
        self.begun: list[tuple[float, bytes]] = []
        self.answered: list[tuple[float, bytes]] = []

    async def begin(self, frame: memoryview, peer: Peer) -> Finish:
        self.begun.append((now(), bytes(frame)))
        return partial(self._answer, bytes(frame), peer)

    async def _answer(self, request: bytes, peer: Peer) -> EncodedResponse:
        self.answered.append((now(), request))
        seconds = request.split()[0]
        if request == b"held":
            await asyncio.Event().wait()
        if seconds.isdigit():
            peer.mute(float(seconds))
        return [request]

    def drain(self) -> None: ...


class Socket(asyncio.Transport):
    """A transport with a client that reads at once, and closes after the end of stream."""

    def __init__(self) -> None:
        super().__init__()
        self.protocol: asyncio.BufferedProtocol | None = None
        self.sent: list[tuple[float, bytes]] = []
        self.closed = False
        self._reading = True
        self._unread = bytearray()

    def receive(self, data: bytes) -> None:
        """Receive bytes of the client, now or when the connection is read again."""
        self._unread += data
        while self._reading and self._unread and not self.closed:
            assert self.protocol is not None
            buffer = memoryview(self.protocol.get_buffer(-1))
            taken = bytes(self._unread[: len(buffer)])
            buffer[: len(taken)] = taken
            del self._unread[: len(taken)]
            self.protocol.buffer_updated(len(taken))

    @override
    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent.append((now(), bytes(data)))

    @override
    def get_extra_info(self, name: str, default: object = None) -> object:
        return ("127.0.0.1", 1) if name == "peername" else default

    @override
    def get_write_buffer_size(self) -> int:
        return 0

    @override
    def is_closing(self) -> bool:
        return self.closed

    @override
    def can_write_eof(self) -> bool:
        return True

    @override
    def write_eof(self) -> None:
        self.abort()

    @override
    def is_reading(self) -> bool:
        return self._reading

    @override
    def pause_reading(self) -> None:
        self._reading = False

    @override
    def resume_reading(self) -> None:
        self._reading = True
        virtual_loop().call_soon(self.receive, b"")

    @override
    def abort(self) -> None:
        assert self.protocol is not None
        self.closed = True
        virtual_loop().call_soon(partial(self.protocol.connection_lost, None))


class Rig:
    """A listener with one connection."""

    def __init__(self, **settings: int) -> None:
        self.clock, self.tasks, self.requests = VirtualClock(virtual_loop()), Tasks(), Throttled()
        self.server = SocketServer(
            settings=settings_of(**settings),
            clock=self.clock,
            tasks=self.tasks,
            metrics=NetMetrics.on(Metrics()),
        )
        self.server._requests = self.requests
        client = ClientAddress("10.0.0.7", 50_000)
        self.connection: Connection = self.server._connection(ListenerSpec("", 0), client, Slot(lambda: None))
        self.socket = Socket()
        self.socket.protocol = self.connection
        self.connection.connection_made(self.socket)

    def send(self, *requests: bytes) -> None:
        self.socket.receive(b"".join(len(one).to_bytes(4, "big") + one for one in requests))


def now() -> float:
    return round(virtual_loop().time(), 2)


def on_rig(**settings: int) -> Callable[[Callable[[Rig], Awaitable[None]]], Callable[[], None]]:
    """Make a test of a function that uses a rig."""

    def decorate(body: Callable[[Rig], Awaitable[None]]) -> Callable[[], None]:
        def test() -> None:
            async def main() -> None:
                rig = Rig(**settings)
                await body(rig)
                await rig.tasks.stop()

            run(main())

        return test

    return decorate


@on_rig()
async def test_response_is_sent_at_once_and_the_next_request_begun_after_the_throttle_time(rig: Rig) -> None:
    rig.send(b"3 first")
    await rig.clock.sleep(1)
    rig.send(b"second", b"third")
    await rig.clock.sleep(4)
    assert rig.requests.begun == [(0.0, b"3 first"), (3.0, b"second"), (3.0, b"third")]
    assert rig.socket.sent == [(0.0, b"3 first"), (3.0, b"secondthird")]


@on_rig()
async def test_muted_connection_is_not_read(rig: Rig) -> None:
    rig.send(b"3 first")
    await rig.clock.sleep(SOON)
    assert not rig.socket.is_reading()
    await rig.clock.sleep(3)
    assert rig.socket.is_reading()


@on_rig()
async def test_requests_that_were_begun_before_are_answered_one_throttle_time_after_the_other(
    rig: Rig,
) -> None:
    rig.send(b"3 first", b"2 second", b"third")
    await rig.clock.sleep(10)
    assert rig.requests.answered == [(0.0, b"3 first"), (3.0, b"2 second"), (5.0, b"third")]
    assert [at for at, _ in rig.socket.sent] == [0.0, 3.0, 5.0]


@on_rig()
async def test_throttled_connection_is_read_only_while_no_request_waits(rig: Rig) -> None:
    rig.send(b"1 first", b"1 second")
    await rig.clock.sleep(1.5)
    rig.send(b"third")
    await rig.clock.sleep(SOON)
    assert [request for _, request in rig.requests.begun] == [b"1 first", b"1 second"]
    await rig.clock.sleep(1)
    assert rig.requests.begun[2:] == [(2.0, b"third")]
    assert rig.socket.is_reading()


@on_rig()
async def test_connection_with_limited_requests_is_read_only_while_none_waits(rig: Rig) -> None:
    rig.connection.limit_request(1024)
    rig.send(b"first")
    await rig.clock.sleep(SOON)
    assert rig.socket.is_reading()
    rig.send(b"held")
    assert not rig.socket.is_reading()
    rig.connection.limit_request(None)
    assert rig.socket.is_reading()


@on_rig()
async def test_longest_of_several_throttle_times_counts(rig: Rig) -> None:
    rig.connection.peer.mute(1)
    rig.connection.peer.mute(3)
    rig.connection.peer.mute(2)
    rig.send(b"first")
    await rig.clock.sleep(5)
    assert rig.socket.sent == [(3.0, b"first")]


@on_rig(connections_max_idle_ms=1_000)
async def test_muted_connection_is_not_idle_until_it_may_be_used_again(rig: Rig) -> None:
    rig.send(b"5 first")
    await rig.clock.sleep(4.9)
    await rig.server._close_idle()
    assert not rig.socket.closed
    await rig.clock.sleep(1)
    await rig.server._close_idle()
    assert not rig.socket.closed
    await rig.clock.sleep(0.2)
    await rig.server._close_idle()
    assert rig.socket.closed


@on_rig(socket_request_max_bytes=1 << 20)
async def test_request_that_is_received_in_part_is_not_slow_for_the_mute(rig: Rig) -> None:
    rig.socket.receive((1 << 20).to_bytes(4, "big") + bytes(100_000))
    assert not rig.connection.is_slow()
    rig.connection.peer.mute(5)
    await rig.clock.sleep(4.9)
    assert not rig.connection.is_slow()
    await rig.clock.sleep(0.2)
    assert [rig.connection.is_slow(), rig.connection.is_slow()] == [False, True]


@on_rig()
async def test_shutdown_ends_the_mute_and_answers_what_was_received(rig: Rig) -> None:
    rig.send(b"300 first", b"300 second")
    await rig.clock.sleep(1)
    await rig.server.stop()
    assert now() == pytest.approx(1.0, abs=0.05)
    assert rig.socket.sent == [(0.0, b"300 first"), (1.0, b"300 second")]
    assert rig.socket.closed


@on_rig()
async def test_muted_connection_that_is_lost_leaves_nothing_behind(rig: Rig) -> None:
    rig.send(b"300 first", b"second")
    await rig.clock.sleep(1)
    rig.socket.abort()
    await rig.clock.sleep(1)
    rig.connection.peer.mute(1)
    assert rig.server.connections == 0
    assert len(rig.tasks) == 0
    await rig.clock.sleep(300)
    assert [request for _, request in rig.requests.answered] == [b"300 first"]


@on_rig(socket_request_max_bytes=1 << 20)
async def test_partial_request_of_a_throttled_client_is_not_slow_while_another_is_answered(rig: Rig) -> None:
    rig.send(b"1 first", b"held")
    rig.socket.receive((1 << 20).to_bytes(4, "big") + bytes(100_000))
    assert [rig.connection.is_slow(), rig.connection.is_slow()] == [False, True], "it may send"
    await rig.clock.sleep(1.5)
    assert [rig.connection.is_slow(), rig.connection.is_slow()] == [False, False]
