"""Shutdown of a listener over real sockets: responses to received requests, then the end of stream."""

import asyncio

import pytest

from dray.net import server
from tests.net.serving import HOST, Script, close, closed, framed, read, served

LARGE = bytes(32 << 20)
"""More than the buffers of a socket hold."""


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a client that makes no progress delay a shutdown by 0.1 s only."""
    monkeypatch.setattr(server, "_CLIENT_SECONDS", 0.1)


def release(script: Script, *names: bytes) -> None:
    for name in names:
        script.held.setdefault(name, asyncio.Event()).set()


async def test_requests_received_before_the_stop_are_answered_and_later_ones_are_not_begun() -> None:
    script = Script()
    async with served(script) as (stopped, port):
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(framed(b"wait:one") + framed(b"wait:two") + framed(b"three"))
        await script.until_begun(3)
        stopping = asyncio.create_task(stopped.stop())
        await asyncio.sleep(0)
        assert script.drained
        writer.write(framed(b"late"))
        release(script, b"wait:one", b"wait:two")
        assert [await read(reader) for _ in range(3)] == [b"wait:one", b"wait:two", b"three"]
        assert await reader.read() == b"", "the end of the stream, and no reset"
        await close(writer)
        await stopping
        assert script.begun == [b"wait:one", b"wait:two", b"three"]


async def test_stop_waits_for_the_client_to_read_its_response_and_close(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "_CLIENT_SECONDS", 60)
    script = Script()
    async with served(script, socket_request_max_bytes=2 * len(LARGE)) as (stopped, port):
        reader, writer = await asyncio.open_connection(HOST, port, limit=len(LARGE))
        writer.write(framed(LARGE))
        await script.until_begun(1)
        stopping = asyncio.create_task(stopped.stop())
        assert await read(reader) == LARGE
        await close(writer)
        await stopping
        assert stopped.connections == 0


async def test_client_that_does_not_read_its_responses_does_not_delay_the_stop() -> None:
    script = Script()
    async with served(script, socket_request_max_bytes=2 * len(LARGE)) as (stopped, port):
        _, writer = await asyncio.open_connection(HOST, port, limit=1024)
        writer.write(framed(LARGE) + framed(b"next"))
        await script.until_begun(2)
        async with asyncio.timeout(5):
            await stopped.stop()
        assert stopped.connections == 0
        await close(writer)


async def test_idle_clients_that_do_not_close_do_not_delay_the_stop() -> None:
    async with served(Script()) as (stopped, port):
        clients = [await asyncio.open_connection(HOST, port) for _ in range(3)]
        for reader, writer in clients:
            writer.write(framed(b"hello"))
            assert await read(reader) == b"hello"
        async with asyncio.timeout(5):
            await stopped.stop()
        assert stopped.connections == 0
        for reader, writer in clients:
            assert await reader.read() == b""
            await close(writer)


async def test_partial_request_does_not_delay_the_stop() -> None:
    async with served(Script()) as (stopped, port):
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(framed(b"hello") + framed(b"half of it")[:8])
        assert await read(reader) == b"hello"
        stopping = asyncio.create_task(stopped.stop())
        assert await reader.read() == b""
        await close(writer)
        await stopping
        assert stopped.in_flight_bytes == 0


async def test_request_that_is_never_answered_is_abandoned_after_the_timeout() -> None:
    script = Script()
    async with served(script, shutdown_drain_timeout_ms=200) as (stopped, port):
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(framed(b"wait:forever"))
        await script.until_begun(1)
        async with asyncio.timeout(5):
            await stopped.stop()
        assert await closed(reader)
        await close(writer)
