"""TLS on real sockets, under both event loops: requests, principals, versions, shutdown, reload."""

import asyncio
import socket
import ssl
from asyncio import StreamReader, StreamWriter
from contextlib import closing
from pathlib import Path

import pytest
import uvloop

from dray.ids import ANONYMOUS, USER, Principal
from dray.net import server as server_module
from dray.net.tls import ClientAuth
from tests.net.authority import Authority
from tests.net.serving import HOST, Script, close, closed, framed, read
from tests.net.tls_serving import LARGE, Run, asked, both_loops, capture_logs, rejected, served


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@both_loops
def test_requests_of_all_sizes_are_answered_over_tls(run: Run, authority: Authority) -> None:
    async def body() -> None:
        script = Script()
        async with served(script, authority) as tls:
            reader, writer = await tls.connect()
            sizes = [5, 20_000, 300_000, 3_000_000, 7]
            for size in sizes:
                writer.write(framed(b"x" * size))
            assert [len(await read(reader)) for _ in sizes] == sizes
            assert {(peer.listener, peer.principal) for peer in script.peers} == {("SSL", ANONYMOUS)}
            assert tls.count("completed") == 1
            await close(writer)

    run(body())


@both_loops
def test_pipelined_requests_beyond_the_limits_in_flight_are_all_answered(
    run: Run, authority: Authority
) -> None:
    """Reading is paused and resumed while TLS has decrypted more than was asked for."""

    async def body() -> None:
        async with served(
            Script(), authority, in_flight_bytes_max=2_000, broker_in_flight_bytes_max=1 << 20
        ) as tls:
            reader, writer = await tls.connect()
            payloads = [b"%06d" % number * 200 for number in range(2_000)]
            writer.write(b"".join(map(framed, payloads)))
            assert [await read(reader) for _ in payloads] == payloads
            await close(writer)

    run(body())


@both_loops
def test_principal_is_the_mapped_subject_of_the_certificate(run: Run, authority: Authority) -> None:
    async def body() -> None:
        script = Script()
        rules = "RULE:^CN=(.*)$/$1@dray/U"
        async with served(script, authority, ClientAuth.REQUIRED, rules=rules) as tls:
            connection = await tls.connect(authority.issue("alice"))
            assert await asked(connection) == b"hello"
            assert script.peers[0].principal == Principal(USER, "ALICE@DRAY")
            await close(connection[1])

    run(body())


@both_loops
def test_requested_certificate_may_be_missing_but_not_invalid(
    run: Run, authority: Authority, tmp_path: Path
) -> None:
    async def body() -> None:
        script = Script()
        async with served(script, authority, ClientAuth.REQUESTED) as tls:
            for certificate in (None, authority.issue("bob")):
                connection = await tls.connect(certificate)
                assert await asked(connection) == b"hello"
                await close(connection[1])
            assert [peer.principal for peer in script.peers] == [ANONYMOUS, Principal(USER, "CN=bob")]
            stranger = Authority(tmp_path, "stranger").issue("eve")
            assert await rejected(tls, stranger) == "TLSV1_ALERT_UNKNOWN_CA"

    run(body())


def test_subject_without_a_rule_is_refused(authority: Authority) -> None:
    async def body() -> None:
        with capture_logs() as logs:
            rules = "RULE:^CN=alice$/alice/"
            async with served(Script(), authority, ClientAuth.REQUIRED, rules=rules) as tls:
                reader, writer = await tls.connect(authority.issue("mallory"))
                assert await closed(reader)
                await close(writer)
        assert any("'CN=mallory'" in one.get("reason", "") for one in logs)

    uvloop.run(body())


@pytest.mark.parametrize(
    ("enabled", "offered", "agreed"),
    [
        (("TLSv1_2",), "TLSv1_2", "TLSv1.2"),
        (("TLSv1_2",), "TLSv1_3", None),
        (("TLSv1_3",), "TLSv1_2", None),
        (("TLSv1_2", "TLSv1_3"), "TLSv1_3", "TLSv1.3"),
    ],
)
def test_only_enabled_versions_are_agreed_on(
    enabled: tuple[str, ...], offered: str, agreed: str | None, authority: Authority
) -> None:
    async def body() -> None:
        versions = tuple(ssl.TLSVersion[name] for name in enabled)
        async with served(Script(), authority, options={"versions": versions}) as tls:
            context = tls.client()
            context.minimum_version = context.maximum_version = ssl.TLSVersion[offered]
            try:
                reader, writer = await asyncio.open_connection(HOST, tls.port, ssl=context)
            except ssl.SSLError:
                assert agreed is None
                return
            assert writer.get_extra_info("ssl_object").version() == agreed
            assert await asked((reader, writer)) == b"hello"
            await close(writer)

    uvloop.run(body())


def test_ciphers_are_restricted(authority: Authority) -> None:
    async def body() -> None:
        options = {"versions": (ssl.TLSVersion.TLSv1_2,), "ciphers": "ECDHE-ECDSA-AES128-GCM-SHA256"}
        async with served(Script(), authority, options=options) as tls:
            connection = await tls.connect()
            assert connection[1].get_extra_info("cipher")[0] == "ECDHE-ECDSA-AES128-GCM-SHA256"
            await close(connection[1])
            other = tls.client()
            other.set_ciphers("ECDHE-ECDSA-AES256-GCM-SHA384")
            with pytest.raises(ssl.SSLError):
                await asyncio.open_connection(HOST, tls.port, ssl=other)

    uvloop.run(body())


@both_loops
def test_shutdown_sends_the_last_responses_and_the_end_of_stream(run: Run, authority: Authority) -> None:
    async def body() -> None:
        script = Script()
        async with served(script, authority) as tls:
            reader, writer = await tls.connect()
            writer.write(framed(b"wait:one") + framed(b"two"))
            await script.until_begun(2)
            stopping = asyncio.create_task(tls.server.stop())
            await asyncio.sleep(0)
            writer.write(framed(b"late") * 1_000)
            script.held.setdefault(b"wait:one", asyncio.Event()).set()
            assert [await read(reader), await read(reader)] == [b"wait:one", b"two"]
            assert await reader.read() == b"", "TLS's end of stream, and no reset"
            await close(writer)
            await stopping
            assert script.begun == [b"wait:one", b"two"]

    run(body())


def test_shutdown_waits_for_a_client_that_keeps_reading(authority: Authority) -> None:
    """TLS's transport passes everything on at once: what it has left does not show whether a client reads."""
    response = bytes(12 << 20)

    async def body() -> None:
        script = Script()
        async with served(script, authority, socket_request_max_bytes=2 * len(LARGE)) as tls:
            loop = asyncio.get_running_loop()
            plain = socket.socket()
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 256 * 1024)
            plain.connect((HOST, tls.port))
            with closing(
                tls.client().wrap_socket(plain, server_hostname=HOST, do_handshake_on_connect=False)
            ) as client:

                def send() -> None:
                    client.do_handshake()
                    client.sendall(framed(response))

                await loop.run_in_executor(None, send)
                await script.until_begun(1)
                stopping = asyncio.create_task(tls.server.stop())
                left = len(response) + 4
                while left:
                    await asyncio.sleep(0.002)
                    chunk = await loop.run_in_executor(None, client.recv, min(left, 256 * 1024))
                    assert chunk, f"the connection was closed with {left} bytes to go"
                    left -= len(chunk)
                assert not stopping.done() or left == 0
            await stopping

    uvloop.run(body())


def test_client_that_does_not_read_does_not_delay_the_stop(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "_CLIENT_SECONDS", 0.1)

    async def body() -> None:
        script = Script()
        async with served(script, authority, socket_request_max_bytes=2 * len(LARGE)) as tls:
            _, writer = await asyncio.open_connection(HOST, tls.port, ssl=tls.client(), limit=1024)
            writer.write(framed(LARGE))
            await script.until_begun(1)
            async with asyncio.timeout(5):
                await tls.server.stop()
            assert tls.server.connections == 0
            await close(writer)

    uvloop.run(body())


@both_loops
def test_new_handshakes_use_replaced_files_and_open_connections_stay(run: Run, authority: Authority) -> None:
    async def body() -> None:
        async with served(Script(), authority) as tls:
            before = await tls.connect()
            serial = authority.issue("broker").content.serial_number
            await tls.contexts.reload()
            after = await tls.connect()
            assert [await asked(one) for one in (before, after)] == [b"hello"] * 2
            assert serial_of(after) == serial != serial_of(before)
            for _, writer in (before, after):
                await close(writer)

    run(body())


@both_loops
def test_replaced_authorities_decide_which_clients_are_accepted(
    run: Run, authority: Authority, tmp_path: Path
) -> None:
    async def body() -> None:
        script, other = Script(), Authority(tmp_path, "other")
        alice, bob = authority.issue("alice"), other.issue("bob")
        async with served(script, authority, ClientAuth.REQUIRED) as tls:
            before = await tls.connect(alice)
            assert await rejected(tls, bob) == "TLSV1_ALERT_UNKNOWN_CA"
            trusted = authority.file.read_bytes()
            authority.file.write_bytes(other.file.read_bytes())
            await tls.contexts.reload()
            authority.file.write_bytes(trusted)  # which the clients of this test trust
            after = await tls.connect(bob)
            assert await rejected(tls, alice) == "TLSV1_ALERT_UNKNOWN_CA"
            assert [await asked(one) for one in (before, after)] == [b"hello"] * 2
            assert [peer.principal.name for peer in script.peers] == ["CN=alice", "CN=bob"]
            for _, writer in (before, after):
                await close(writer)

    run(body())


def serial_of(connection: tuple[StreamReader, StreamWriter]) -> int:
    return int(connection[1].get_extra_info("peercert")["serialNumber"], 16)
