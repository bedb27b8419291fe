"""A TLS listener on a real socket, its clients, and what it logs."""

import asyncio
import logging
import ssl
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
import uvloop

from dray.net import ListenerSpec, ListenerTls, SocketServer
from dray.net.principal_rules import PrincipalRules
from dray.net.tls import ClientAuth, TlsContexts, TlsOptions
from dray.runtime import SystemClock, Tasks
from tests.net.authority import Authority, Issued
from tests.net.serving import HOST, Script, framed, read, server_with, settings_of

Run = Callable[[Coroutine[Any, Any, None]], None]
LOOPS: list[Run] = [asyncio.run, uvloop.run]
both_loops = pytest.mark.parametrize("run", LOOPS, ids=["asyncio", "uvloop"])
LARGE = bytes(32 << 20)


class Served:
    """A TLS listener, and clients of it."""

    def __init__(self, server: SocketServer, port: int, contexts: TlsContexts, authority: Authority) -> None:
        self.server = server
        self.port = port
        self.contexts = contexts
        self.authority = authority

    def client(self, certificate: Issued | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.authority.file))
        if certificate is not None:
            context.load_cert_chain(certificate.certificate, certificate.key)
        return context

    async def connect(self, certificate: Issued | None = None) -> tuple[StreamReader, StreamWriter]:
        return await asyncio.open_connection(HOST, self.port, ssl=self.client(certificate), limit=len(LARGE))

    def count(self, outcome: str) -> float:
        child = self.server._metrics.handshakes.labels("SSL", outcome)
        return child._value


@asynccontextmanager
async def served(
    script: Script,
    authority: Authority,
    auth: ClientAuth = ClientAuth.NONE,
    options: dict[str, Any] | None = None,
    rules: str = "DEFAULT",
    **limits: int,
) -> AsyncIterator[Served]:
    issued = authority.issue("broker")
    files = TlsOptions(
        str(issued.certificate), str(issued.key), client_ca_file=str(authority.file), **(options or {})
    )
    contexts = TlsContexts(files, [auth], SystemClock())
    tasks = Tasks()
    server = server_with(tasks, settings_of(**limits))
    tls = ListenerTls(contexts, auth, PrincipalRules(rules))
    port = await server.bind(ListenerSpec(HOST, 0, "SSL", tls))
    await server.serve(script)
    try:
        yield Served(server, port, contexts, authority)
    finally:
        await server.stop()
        await tasks.stop()


@contextmanager
def capture_logs() -> Iterator[list[dict[str, Any]]]:
    """Collect the fields of the lines that the package logs."""
    lines: list[dict[str, Any]] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            assert isinstance(record.msg, dict)
            lines.append(record.msg)

    logger, handler = logging.getLogger("dray.net"), Collector()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.01)


async def asked(connection: tuple[StreamReader, StreamWriter], payload: bytes = b"hello") -> bytes:
    reader, writer = connection
    writer.write(framed(payload))
    return await read(reader)


async def rejected(tls: Served, certificate: Issued | None) -> str | None:
    """Return the alert that a client gets; it may come after the handshake, as the client sees it."""
    writer = None
    try:
        reader, writer = await tls.connect(certificate)
        async with asyncio.timeout(5):
            await reader.read(1)
    except ssl.SSLError as error:
        return error.reason
    finally:
        if writer is not None:
            writer.close()
    return None
