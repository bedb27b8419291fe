"""The listening socket and all its connections."""

import asyncio
import errno
import os
import socket

from dray.net.budget import BrokerBudget
from dray.net.connection import Connection, Requests
from dray.net.frames import SCRATCH_BYTES
from dray.net.metrics import Cause, NetMetrics
from dray.net.settings import NetSettings
from dray.observe import get_logger
from dray.runtime import Clock, Tasks

_log = get_logger("net")
_BACKLOG = 1024
_IDLE_CHECKS = 10
_SLOW_CHECK_SECONDS = 2.0
_CLIENT_SECONDS = 1.0
"""How long a shutdown waits for a client that neither reads its responses nor closes."""
_DRAIN_CHECK_SECONDS = 0.01
_REMEDIES = {
    errno.EADDRINUSE: "address already in use; stop the process that uses it, or choose another address",
    errno.EADDRNOTAVAIL: "not an address of this machine; choose one that is, or 0.0.0.0 for all",
    errno.EACCES: "permission denied; choose a port above 1023, or another address",
}


class CannotListen(Exception):
    """The address cannot be listened on; the message says which and why."""


class Listener:
    """Binds an address with `bind`, and accepts connections from `serve` to `stop`."""

    def __init__(self, *, settings: NetSettings, clock: Clock, tasks: Tasks, metrics: NetMetrics) -> None:
        self._requests: Requests | None = None
        self._settings = settings
        self._clock = clock
        self._tasks = tasks
        self._metrics = metrics
        self._budget = BrokerBudget(settings.broker_in_flight_bytes_max)
        self._was_blocked = False
        self._stopping = False
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        self._connections: dict[Connection, None] = {}
        self._server: asyncio.Server | None = None
        self._address = "", 0
        metrics.open.set_function(lambda: len(self._connections))
        metrics.waiting.set_function(lambda: self._budget.waiting)
        metrics.in_flight_bytes.set_function(lambda: self._budget.used)

    @property
    def connections(self) -> int:
        return len(self._connections)

    @property
    def in_flight_bytes(self) -> int:
        return self._budget.used

    async def bind(self, host: str, port: int) -> int:
        """Bind the address; returns the port, which the system chooses for port 0."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                self._connection, host, port, backlog=_BACKLOG, start_serving=False
            )
        except OSError as error:
            raise CannotListen(bind_error_message(error, host, port)) from error
        self._address = host, int(self._server.sockets[0].getsockname()[1])
        return self._address[1]

    async def serve(self, requests: Requests) -> None:
        """Accept connections and hand over their requests.

        Two processes can bind one address; the one that listens later fails here.
        """
        assert self._server is not None, "bind comes first"
        self._requests = requests
        try:
            await self._server.start_serving()
            _check_listening(self._server)
        except OSError as error:
            raise CannotListen(bind_error_message(error, *self._address)) from error
        interval = self._settings.connections_max_idle_ms / 1000 / _IDLE_CHECKS
        every = self._tasks.every
        every(interval, self._close_idle, name="idle-connections", clock=self._clock)
        every(_SLOW_CHECK_SECONDS, self._close_slow, name="slow-connections", clock=self._clock)

    async def stop(self) -> None:
        """Accept no more connections and requests, answer those received, then close everything.

        Long polls end at once, so only produces that are not durable yet take time.
        """
        self._stopping = True
        if self._server is not None:
            self._server.close()
        if self._requests is not None:
            self._requests.drain()
        for connection in list(self._connections):
            connection.drain()
        try:
            async with asyncio.timeout(self._settings.shutdown_drain_timeout_ms / 1000):
                await self._drained()
        except TimeoutError:
            unanswered = sum(not connection.idle for connection in self._connections)
            _log.warning("drain_timeout", connections=len(self._connections), unanswered=unanswered)
        for connection in list(self._connections):
            connection.close(Cause.STOPPING, "the broker is stopping")

    def opened(self, connection: Connection) -> Cause | None:
        self._connections[connection] = None
        if self._stopping:
            return Cause.STOPPING
        return Cause.TOO_MANY if len(self._connections) > self._settings.connections_max else None

    def closed(self, connection: Connection, cause: Cause) -> None:
        self._connections.pop(connection, None)
        self._metrics.closed.labels(cause).inc()

    def _connection(self) -> Connection:
        assert self._requests is not None
        return Connection(
            self._requests,
            self,
            scratch=self._scratch,
            settings=self._settings,
            budget=self._budget,
            clock=self._clock,
            tasks=self._tasks,
        )

    async def _drained(self) -> None:
        """Return when all connections are closed; one whose client makes no progress is closed here."""
        while self._connections:
            for connection in list(self._connections):
                if connection.is_stalled(_CLIENT_SECONDS):
                    connection.close(Cause.STOPPING, "the client did not close in time")
            await self._clock.sleep(_DRAIN_CHECK_SECONDS)

    async def _close_idle(self) -> None:
        oldest = self._clock.monotonic() - self._settings.connections_max_idle_ms / 1000
        for connection in list(self._connections):
            if connection.is_idle_since(oldest):
                connection.close(Cause.IDLE, "idle for net.connections_max_idle_ms")

    async def _close_slow(self) -> None:
        """Close connections that send a request too slowly while others wait for its memory."""
        was_blocked, self._was_blocked = self._was_blocked, self._budget.is_blocked
        if not self._was_blocked:
            return
        for connection in list(self._connections):
            if connection.is_slow() and was_blocked:
                connection.close(Cause.SLOW, "it sends too slowly while others wait for memory")


def bind_error_message(error: OSError, host: str, port: int, purpose: str = "") -> str:
    """Return one sentence about an address that cannot be listened on, with a remedy.

    Event loops wrap the system's message, each in its own way; the error number is the same in all of them.
    """
    shown = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}") + purpose
    if isinstance(error, socket.gaierror):
        return f"cannot listen on {shown}: unknown host name ({error.strerror}); choose another address"
    reason = _REMEDIES.get(error.errno or 0)
    if reason is None:
        message = os.strerror(error.errno) if error.errno else str(error)
        reason = f"{message}; choose another address"
    return f"cannot listen on {shown}: {reason}"


def _check_listening(server: asyncio.Server) -> None:
    """Raise if a socket was closed: uvloop silently drops one that cannot listen."""
    if any(one.fileno() < 0 for one in server.sockets):
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
