"""A small HTTP server for GET requests: one page per path, no streaming, no uploads.

h11 implements HTTP; this module moves its bytes. Connections are accepted by a listener like those for Kafka
clients, with TLS if it has certificates. A connection serves requests one after the other until it is closed,
sends a malformed request, or takes too long. Above a number of connections, further ones are closed. At the
end those that wait for a request are closed at once, the others with their response.
"""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

import h11
from typing_extensions import override

from dray.console.access import Access, OpenAccess
from dray.console.page import Page
from dray.net import CannotListen, ListenerSpec, ListenerTls, NetMetrics, NetSettings
from dray.net.handshakes import Handshakes
from dray.net.limited_lines import LimitedLines
from dray.net.limits import ConnectionLimits, Slot
from dray.net.listener import Listener, Shared
from dray.net.spec import ClientAddress
from dray.runtime import Clock, Tasks

_NAME: Final = "http"
"""The listener in logs and metrics; those for Kafka clients have names in upper case."""
_CHUNK: Final = 16 * 1024
_IDLE_SECONDS: Final = 60.0
"""The time for a request, with the wait for it."""
_STOP_SECONDS: Final = 1.0
"""The time for responses at the end."""
_LIMITS: Final = NetSettings(connections_max=256, tls_handshakes_max=64)
_FULL: Final = "the HTTP endpoint takes no more connections"
_SECURITY_HEADERS: Final = (
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
)

Route = Callable[[], Awaitable[Page]]


class HttpServer:
    """Serves GET and HEAD requests for the given routes, from `start` to `stop`."""

    def __init__(
        self,
        routes: Mapping[str, Route],
        access: Access | None = None,
        *,
        clock: Clock,
        tasks: Tasks,
        metrics: NetMetrics,
    ) -> None:
        self._routes = routes
        self._access = access or OpenAccess()
        limits = ConnectionLimits(_LIMITS, full=_FULL)
        handshakes = Handshakes(_LIMITS.tls_handshakes_max)
        self._shared = Shared(_LIMITS, clock, tasks, metrics, limits, handshakes, LimitedLines())
        self._listener: Listener | None = None
        self._connections: dict[asyncio.Task[None], StreamWriter] = {}
        self._answering: set[StreamWriter] = set()
        self._stopping = False

    async def start(self, host: str, port: int, tls: ListenerTls | None = None) -> int:
        """Listen; returns the port. Raises `CannotListen`."""
        spec = ListenerSpec(host, port, _NAME, tls)
        self._listener = Listener(spec, self._shared, self._connect, purpose=" for HTTP")
        port = await self._listener.bind()
        try:
            self._listener.accept()
        except CannotListen:
            self._listener.stop()
            raise
        return port

    async def stop(self) -> None:
        """Accept no more connections, complete the responses, and close all connections."""
        self._stopping = True
        if self._listener is not None:
            self._listener.stop()
        self._shared.handshakes.cancel()
        for writer in self._connections.values():
            if writer not in self._answering:
                writer.transport.abort()
        if self._connections:
            await asyncio.wait(list(self._connections), timeout=_STOP_SECONDS)
        for writer in self._connections.values():
            writer.transport.abort()

    def _connect(self, _: ListenerSpec, client: ClientAddress, slot: Slot) -> asyncio.BaseProtocol:
        return _Protocol(lambda reader, writer: self._opened(reader, writer, client.host), slot)

    def _opened(self, reader: StreamReader, writer: StreamWriter, host: str) -> None:
        task = self._shared.tasks.start(self._serve(reader, writer, host), name="http-connection")
        self._connections[task] = writer
        task.add_done_callback(self._connections.pop)

    async def _serve(self, reader: StreamReader, writer: StreamWriter, host: str) -> None:
        connection = h11.Connection(h11.SERVER)
        try:
            async with asyncio.timeout(None) as limit:
                while await self._serve_next(connection, reader, writer, host, limit):
                    connection.start_next_cycle()
        except (h11.RemoteProtocolError, ConnectionError, TimeoutError):
            pass  # the client's error; the connection is closed
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _serve_next(
        self,
        connection: h11.Connection,
        reader: StreamReader,
        writer: StreamWriter,
        host: str,
        limit: asyncio.Timeout,
    ) -> bool:
        """Serve one request; returns false if the connection was closed instead."""
        request: h11.Request | None = None
        limit.reschedule(asyncio.get_running_loop().time() + _IDLE_SECONDS)
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(await reader.read(_CHUNK))
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.EndOfMessage):
                break
            elif isinstance(event, h11.ConnectionClosed):
                return False
        assert request is not None
        self._answering.add(writer)
        try:
            await self._send(connection, writer, request, await self._page(request, host))
        finally:
            self._answering.discard(writer)
        is_done = connection.our_state is h11.DONE and connection.their_state is h11.DONE
        return is_done and not self._stopping

    async def _page(self, request: h11.Request, host: str) -> Page:
        if request.method not in (b"GET", b"HEAD"):
            return Page(405, b"only GET and HEAD are supported\n")
        path = request.target.decode("ascii", "replace").partition("?")[0]
        refusal = await self._access.refusal(path, dict(request.headers), host)
        if refusal is not None:
            return refusal
        route = self._routes.get(path)
        if route is None:
            return Page(404, b"not found; try " + ", ".join(self._routes).encode() + b"\n")
        return await route()

    async def _send(
        self, connection: h11.Connection, writer: StreamWriter, request: h11.Request, page: Page
    ) -> None:
        headers = [
            ("content-type", page.content_type),
            ("content-length", str(len(page.body))),
            *_SECURITY_HEADERS,
            *page.headers.items(),
        ]
        parts = [connection.send(h11.Response(status_code=page.status, headers=headers))]
        if request.method != b"HEAD":
            parts.append(connection.send(h11.Data(data=page.body)))
        parts.append(connection.send(h11.EndOfMessage()))
        writer.writelines([part for part in parts if part])
        await writer.drain()


class _Protocol(asyncio.StreamReaderProtocol):
    """A connection as streams, which has a slot among all connections."""

    def __init__(self, connected: Callable[[StreamReader, StreamWriter], None], slot: Slot) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(StreamReader(limit=_CHUNK, loop=loop), connected, loop=loop)
        self._slot = slot

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._slot.release()
