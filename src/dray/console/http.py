"""A small HTTP server for GET requests: one page per path, no streaming, no uploads.

h11 implements HTTP; this module moves its bytes. A connection serves requests one after the other until it is
closed, sends a malformed request, or takes too long. Above a number of connections, further ones are closed.
"""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

import h11

from dray.acls import canonical_host
from dray.console.access import Access, OpenAccess
from dray.console.page import Page
from dray.net import bind_error_message
from dray.observe import get_logger

_log = get_logger("console")
_CHUNK: Final = 16 * 1024
_IDLE_SECONDS: Final = 60.0
"""The time for a request, with the wait for it."""
_CONNECTIONS_MAX: Final = 256
_SECURITY_HEADERS: Final = (
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
)


class CannotServeHttp(Exception):
    """The address cannot be listened on; the message says which and why."""


Route = Callable[[], Awaitable[Page]]


class HttpServer:
    """Serves GET and HEAD requests for the given routes."""

    def __init__(self, routes: Mapping[str, Route], access: Access | None = None) -> None:
        self._routes = routes
        self._access = access or OpenAccess()
        self._server: asyncio.Server | None = None
        self._open = 0

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port."""
        try:
            self._server = await asyncio.start_server(self._serve, host, port)
        except OSError as error:
            raise CannotServeHttp(bind_error_message(error, host, port, " for HTTP")) from error
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        if self._open >= _CONNECTIONS_MAX:
            writer.close()
            return
        self._open += 1
        connection = h11.Connection(h11.SERVER)
        try:
            async with asyncio.timeout(None) as limit:
                while await self._serve_next(connection, reader, writer, limit):
                    connection.start_next_cycle()
        except (h11.RemoteProtocolError, ConnectionError, TimeoutError):
            pass  # the client's error; the connection is closed
        finally:
            self._open -= 1
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _serve_next(
        self, connection: h11.Connection, reader: StreamReader, writer: StreamWriter, limit: asyncio.Timeout
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
        host = canonical_host(str((writer.get_extra_info("peername") or ("unknown",))[0]))
        await self._send(connection, writer, request, await self._page(request, host))
        return connection.our_state is h11.DONE and connection.their_state is h11.DONE

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
