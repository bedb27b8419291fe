"""Connections over real sockets: order, pipelining, back-pressure, limits, draining."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from dray.api.exchange import Answer, CloseConnection, Finish, Peer
from dray.net import CannotListen, Listener, NetMetrics, NetSettings
from dray.observe import Metrics
from dray.runtime import SystemClock, Tasks

_HOST = "127.0.0.1"


def _framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


class _Script:
    """Echoes frames; those that begin with `wait:` are answered when they are let go."""

    def __init__(self) -> None:
        self.begun: list[bytes] = []
        self.peers: list[Peer] = []
        self.held: dict[bytes, asyncio.Event] = {}
        self.begun_some = asyncio.Event()

    async def begin(self, frame: memoryview, peer: Peer) -> Finish:
        payload = bytes(frame)
        self.begun.append(payload)
        self.begun_some.set()
        assert peer.host == _HOST
        self.peers.append(peer)
        if payload == b"bad":
            raise CloseConnection("it was bad")
        if payload == b"broken":
            raise RuntimeError("a fault of our own")
        return partial(self._answer, payload)

    async def _answer(self, payload: bytes) -> Answer:
        if payload.startswith(b"wait:"):
            await self.held.setdefault(payload, asyncio.Event()).wait()
        if payload == b"silent":
            return None
        return [len(payload).to_bytes(4, "big"), payload[:2], memoryview(payload)[2:]]

    async def until_begun(self, count: int) -> None:
        while len(self.begun) < count:
            self.begun_some.clear()
            await self.begun_some.wait()


def _listener(tasks: Tasks, settings: NetSettings) -> Listener:
    metrics = NetMetrics.on(Metrics())
    return Listener(settings=settings, clock=SystemClock(), tasks=tasks, metrics=metrics)


@asynccontextmanager
async def _served(script: _Script, **limits: int) -> AsyncIterator[tuple[Listener, int]]:
    tasks = Tasks()
    listener = _listener(tasks, NetSettings(**limits))
    port = await listener.bind(_HOST, 0)
    await listener.serve(script)
    try:
        yield listener, port
    finally:
        await listener.stop()
        await tasks.stop()


async def _read(reader: StreamReader) -> bytes:
    async with asyncio.timeout(5):
        size = int.from_bytes(await reader.readexactly(4), "big")
        return await reader.readexactly(size)


async def _closed(reader: StreamReader) -> bool:
    """Whether the other end closes, whatever it sent before."""
    try:
        async with asyncio.timeout(5):
            return (await reader.read()) is not None
    except ConnectionError:
        return True


async def _close(writer: StreamWriter) -> None:
    writer.close()
    try:
        await writer.wait_closed()
    except ConnectionError:
        return


async def test_answers_leave_in_the_order_of_the_requests_while_later_ones_are_begun() -> None:
    script = _Script()
    async with _served(script) as (_, port):
        reader, writer = await asyncio.open_connection(_HOST, port)
        writer.write(_framed(b"wait:one") + _framed(b"two") + _framed(b"three"))
        await script.until_begun(3)
        script.held.setdefault(b"wait:one", asyncio.Event()).set()
        assert [await _read(reader) for _ in range(3)] == [b"wait:one", b"two", b"three"]
        await _close(writer)


async def test_a_request_that_wants_no_answer_gets_none() -> None:
    async with _served(_Script()) as (_, port):
        reader, writer = await asyncio.open_connection(_HOST, port)
        writer.write(_framed(b"silent") + _framed(b"loud"))
        assert await _read(reader) == b"loud"
        await _close(writer)


async def test_large_requests_come_whole() -> None:
    async with _served(_Script()) as (_, port):
        reader, writer = await asyncio.open_connection(_HOST, port)
        payload = bytes(range(256)) * 20_000
        for _ in range(3):
            writer.write(_framed(payload))
            assert await _read(reader) == payload
        await _close(writer)


@pytest.mark.parametrize("request_bytes", [b"bad", b"broken"])
async def test_what_cannot_be_answered_ends_its_connection_only(request_bytes: bytes) -> None:
    async with _served(_Script()) as (_, port):
        bad, bad_writer = await asyncio.open_connection(_HOST, port)
        good, good_writer = await asyncio.open_connection(_HOST, port)
        bad_writer.write(_framed(request_bytes))
        assert await _closed(bad)
        good_writer.write(_framed(b"good"))
        assert await _read(good) == b"good"
        await _close(bad_writer)
        await _close(good_writer)


async def test_a_client_can_be_hung_up_on_after_its_request_was_done_with() -> None:
    script = _Script()
    async with _served(script) as (_, port):
        reader, writer = await asyncio.open_connection(_HOST, port)
        writer.write(_framed(b"silent") + _framed(b"loud"))
        assert await _read(reader) == b"loud"
        script.peers[0].hang_up("it failed later")
        assert await _closed(reader)
        script.peers[0].hang_up("again, which is no fault")
        await _close(writer)


@pytest.mark.parametrize("length", [b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"])
async def test_absurd_lengths_end_the_connection(length: bytes) -> None:
    async with _served(_Script()) as (_, port):
        reader, writer = await asyncio.open_connection(_HOST, port)
        writer.write(length + b"x" * 10)
        assert await _closed(reader)
        await _close(writer)


async def test_an_absurd_length_behind_many_requests_ends_the_connection_when_its_turn_comes() -> None:
    script = _Script()
    async with _served(script, in_flight_requests_max=2) as (_, port):
        reader, writer = await asyncio.open_connection(_HOST, port)
        writer.write(_framed(b"silent") * 10 + b"\x7f\xff\xff\xff")
        assert await _closed(reader)
        assert script.begun == [b"silent"] * 10
        await _close(writer)


async def test_no_more_is_begun_than_may_wait() -> None:
    script = _Script()
    async with _served(script, in_flight_requests_max=2) as (_, port):
        reader, writer = await asyncio.open_connection(_HOST, port)
        names = [b"wait:%d" % number for number in range(40)]
        for name in names:
            writer.write(_framed(name.ljust(2_000, b".")))
        await script.until_begun(3)
        held = list(script.begun)
        for name in names:
            script.held.setdefault(name.ljust(2_000, b"."), asyncio.Event()).set()
        answers = [(await _read(reader)).rstrip(b".") for _ in names]
        assert answers == names
        assert len(held) < len(names)
        await _close(writer)


async def test_too_many_connections_are_turned_away() -> None:
    async with _served(_Script(), connections_max=1) as (listener, port):
        first, first_writer = await asyncio.open_connection(_HOST, port)
        first_writer.write(_framed(b"hello"))
        assert await _read(first) == b"hello"
        second, second_writer = await asyncio.open_connection(_HOST, port)
        assert await _closed(second)
        first_writer.write(_framed(b"still here"))
        assert await _read(first) == b"still here"
        await _close(first_writer)
        await _close(second_writer)
        assert listener.connections <= 1


async def test_stopping_waits_for_answers_and_takes_nothing_new() -> None:
    script = _Script()
    async with _served(script) as (listener, port):
        reader, writer = await asyncio.open_connection(_HOST, port)
        writer.write(_framed(b"wait:last"))
        await script.until_begun(1)
        stopping = asyncio.create_task(listener.stop())
        await asyncio.sleep(0)
        script.held.setdefault(b"wait:last", asyncio.Event()).set()
        assert await _read(reader) == b"wait:last"
        await stopping
        assert await _closed(reader)
        with pytest.raises(OSError, match=r"refused|Connect"):
            await asyncio.open_connection(_HOST, port)
        await _close(writer)


async def test_an_address_in_use_is_told() -> None:
    async with _served(_Script()) as (_, port):
        other = _listener(Tasks(), NetSettings())
        with pytest.raises(CannotListen, match=f"{port}.*in use.*choose another"):
            await other.bind(_HOST, port)
