"""TLS handshakes that fail, under both event loops: refused, hostile, unfinished, and too many at once."""

import asyncio
import ssl
from pathlib import Path

import pytest
import uvloop

from dray.net import ListenerSpec
from dray.net.tls import ClientAuth
from dray.runtime import Tasks
from tests.net.authority import Authority
from tests.net.serving import HOST, Script, close, closed, framed, server_with, settings_of
from tests.net.tls_serving import Run, asked, both_loops, capture_logs, rejected, served, until


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@both_loops
def test_refused_client_gets_the_alert_that_names_the_reason(run: Run, authority: Authority) -> None:
    async def body() -> None:
        with capture_logs() as logs:
            async with served(Script(), authority, ClientAuth.REQUIRED) as tls:
                assert await rejected(tls, None) == "TLSV13_ALERT_CERTIFICATE_REQUIRED"
                await until(lambda: tls.count("failed") == 1)
                assert tls.server.connections == 0
        (failed,) = [one for one in logs if one["event"] == "tls_handshake_failed"]
        assert failed["listener"] == "SSL"
        assert failed["peer"].startswith(f"{HOST}:")
        assert failed["reason"] == "the client presented no certificate"

    run(body())


@both_loops
def test_plaintext_client_of_a_tls_listener_is_disconnected_and_logged_once_a_second(
    run: Run, authority: Authority
) -> None:
    async def body() -> None:
        with capture_logs() as logs:
            async with served(Script(), authority) as tls:
                for payload in (framed(b"\0\x12\0\0 a request"), b"GET / HTTP/1.1\r\n\r\n", framed(b"more")):
                    reader, writer = await asyncio.open_connection(HOST, tls.port)
                    writer.write(payload)
                    assert await closed(reader)
                    await close(writer)
                await until(lambda: tls.count("failed") == 3)
        reasons = [one["reason"] for one in logs if one["event"] == "tls_handshake_failed"]
        assert len(reasons) == 1
        assert "does not speak TLS" in reasons[0]

    run(body())


def test_tls_client_of_a_plaintext_listener_is_disconnected_and_logged(authority: Authority) -> None:
    async def body() -> None:
        with capture_logs() as logs:
            tasks = Tasks()
            server = server_with(tasks, settings_of())
            port = await server.bind(ListenerSpec(HOST, 0))
            await server.serve(Script())
            context = ssl.create_default_context(cafile=str(authority.file))
            with pytest.raises((ssl.SSLError, ConnectionError)):
                await asyncio.open_connection(HOST, port, ssl=context)
            await server.stop()
            await tasks.stop()
        (failed,) = [one for one in logs if one["event"] == "tls_handshake_failed"]
        assert failed["reason"] == "the client speaks TLS, and this listener does not"

    uvloop.run(body())


@both_loops
def test_probe_that_only_connects_is_counted_and_not_reported(run: Run, authority: Authority) -> None:
    async def body() -> None:
        with capture_logs() as logs:
            async with served(Script(), authority) as tls:
                _, writer = await asyncio.open_connection(HOST, tls.port)
                await close(writer)
                await until(lambda: tls.count("failed") == 1)
                assert tls.server._shared.limits.of("SSL") == 0
        assert [one for one in logs if one["event"] == "tls_handshake_failed"] == []

    run(body())


@both_loops
def test_handshake_that_is_not_completed_is_ended(run: Run, authority: Authority) -> None:
    async def body() -> None:
        with capture_logs() as logs:
            async with served(Script(), authority, tls_handshake_timeout_ms=100) as tls:
                reader, writer = await asyncio.open_connection(HOST, tls.port)
                writer.write(b"\x16\x03\x01")
                assert await closed(reader)
                await close(writer)
                await until(lambda: tls.count("failed") == 1)
        assert any(one.get("reason") == "it was not completed within 0.1 s" for one in logs)

    run(body())


def test_clients_that_send_nothing_do_not_keep_others_out(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dray.net.handshakes.PATIENCE_SECONDS", 0.05)

    async def body() -> None:
        async with served(Script(), authority, tls_handshakes_max=4) as tls:
            silent = [await asyncio.open_connection(HOST, tls.port) for _ in range(12)]
            assert len(tls.server._shared.handshakes) <= 4
            async with asyncio.timeout(5):
                connection = await tls.connect()
                assert await asked(connection) == b"hello"
            for _, writer in [*silent, connection]:
                await close(writer)

    uvloop.run(body())


def test_many_clients_at_once_are_all_served(authority: Authority) -> None:
    async def body() -> None:
        async with served(Script(), authority, tls_handshakes_max=3) as tls:
            connections = await asyncio.gather(*(tls.connect() for _ in range(30)))
            assert [await asked(one) for one in connections] == [b"hello"] * 30
            assert (tls.count("completed"), tls.count("failed")) == (30, 0)
            for _, writer in connections:
                await close(writer)

    uvloop.run(body())


def test_unfinished_handshake_counts_as_a_connection(authority: Authority) -> None:
    async def body() -> None:
        async with served(Script(), authority, connections_max=1) as tls:
            _, writer = await asyncio.open_connection(HOST, tls.port)
            await until(lambda: len(tls.server._shared.handshakes) == 1)
            reader, other = await asyncio.open_connection(HOST, tls.port)
            assert await closed(reader)
            await close(writer)
            await close(other)
            await until(lambda: tls.count("failed") == 1)
            connection = await tls.connect()
            assert await asked(connection) == b"hello"
            await close(connection[1])

    uvloop.run(body())


@both_loops
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\x16",
        b"\x16\x03\x01\x00\x05garbage of a handshake",
        b"\x16\x03\x01\xff\xff" + bytes(70_000),
        b"\x17\x03\x03\x00\x04data",
        b"\x15\x03\x01\x00\x02\x02\x28",
        b"\x80\x2e\x01\x00\x02" + bytes(44),
        bytes(1_000),
        b"\xff" * 300_000,
    ],
    ids=["nothing", "one byte", "garbage", "long record", "data", "alert", "SSL 2", "zeros", "ones"],
)
def test_hostile_bytes_end_only_their_own_connection(sent: bytes, run: Run, authority: Authority) -> None:
    async def body() -> None:
        async with served(Script(), authority) as tls:
            good = await tls.connect()
            _, writer = await asyncio.open_connection(HOST, tls.port)
            writer.write(sent)
            await close(writer)
            await until(lambda: tls.count("failed") == 1)
            await until(lambda: tls.server.connections == 1 and len(tls.server._shared.handshakes) == 0)
            assert tls.server._shared.limits.of("SSL") == 1
            assert await asked(good) == b"hello"
            await close(good[1])

    run(body())
