"""HTTP endpoints with TLS: requests, renewed certificates, clients that do not speak TLS or say nothing."""

import asyncio
import ssl
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dray.console import Page
from dray.net import ListenerTls
from dray.net.tls import ClientAuth, TlsContexts, TlsOptions
from dray.observe import Metrics
from dray.runtime import SystemClock
from tests.console.serving import HOST, serving
from tests.net.authority import Authority
from tests.net.tls_serving import both_loops, capture_logs

Run = Callable[[Coroutine[Any, Any, None]], None]
REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


async def page() -> Page:
    return Page(200, b"x" * 300_000)


class Endpoint:
    """The certificate of an endpoint, and its clients."""

    def __init__(self, folder: Path) -> None:
        self._authority = Authority(folder)
        self.renew()
        options = TlsOptions(str(folder / "http.pem"), str(folder / "http.key"))
        self.contexts = TlsContexts(options, [ClientAuth.NONE], SystemClock())

    @property
    def tls(self) -> ListenerTls:
        return ListenerTls(self.contexts)

    def renew(self) -> None:
        self.certificate = self._authority.issue("http").der

    async def connect(self, port: int) -> tuple[StreamReader, StreamWriter]:
        context = ssl.create_default_context(cafile=str(self._authority.file))
        return await asyncio.open_connection(HOST, port, ssl=context)


async def responds(reader: StreamReader, writer: StreamWriter) -> bool:
    writer.write(REQUEST)
    async with asyncio.timeout(5):
        head = await reader.readuntil(b"\r\n\r\n")
        return head.startswith(b"HTTP/1.1 200") and len(await reader.readexactly(300_000)) == 300_000


@pytest.fixture
def endpoint(tmp_path: Path) -> Endpoint:
    return Endpoint(tmp_path)


@both_loops
def test_requests_are_answered_over_tls_and_counted(run: Run, endpoint: Endpoint) -> None:
    async def body() -> None:
        metrics = Metrics()
        async with serving({"/": page}, endpoint.tls, metrics) as (_, port):
            reader, writer = await endpoint.connect(port)
            assert await responds(reader, writer)
            assert await responds(reader, writer)
            labels = {"listener": "http"}
            assert metrics.registry.get_sample_value("dray_net_open_connections", labels) == 1
            writer.close()

    run(body())


@both_loops
def test_new_connections_use_a_renewed_certificate(run: Run, endpoint: Endpoint) -> None:
    async def body() -> None:
        async with serving({"/": page}, endpoint.tls) as (_, port):
            old = await endpoint.connect(port)
            endpoint.renew()
            await endpoint.contexts.reload()
            new = await endpoint.connect(port)
            shown = new[1].get_extra_info("ssl_object").getpeercert(binary_form=True)
            assert shown == endpoint.certificate
            assert await responds(*old)
            assert await responds(*new)
            for _, writer in (old, new):
                writer.close()

    run(body())


@both_loops
def test_client_without_tls_is_closed_and_logged(run: Run, endpoint: Endpoint) -> None:
    async def body() -> None:
        with capture_logs() as lines:
            async with serving({"/": page}, endpoint.tls) as (_, port):
                reader, writer = await asyncio.open_connection(HOST, port)
                writer.write(REQUEST)
                with suppress(ConnectionError):
                    assert b"HTTP" not in await reader.read()
                writer.close()
        assert [(line["listener"], line["reason"]) for line in lines] == [("http", "the client speaks HTTP")]

    run(body())


@both_loops
def test_stop_does_not_wait_for_handshakes_and_idle_clients(run: Run, endpoint: Endpoint) -> None:
    async def body() -> None:
        async with serving({"/": page}, endpoint.tls) as (server, port):
            silent = await asyncio.open_connection(HOST, port)
            idle = await endpoint.connect(port)
            assert await responds(*idle)
            began = asyncio.get_running_loop().time()
            await server.stop()
            assert asyncio.get_running_loop().time() - began < 1
            for reader, writer in (silent, idle):
                with suppress(ConnectionError, ssl.SSLError):
                    await reader.read()
                writer.close()

    run(body())
