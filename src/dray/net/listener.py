"""The listening socket and all connections that came of it."""

import asyncio
import errno
import os

from dray.net.connection import Connection, Requests
from dray.net.frames import SCRATCH_BYTES
from dray.net.intake import Intake
from dray.net.metrics import Cause, NetMetrics
from dray.net.settings import NetSettings
from dray.net.unbound import why_unbound
from dray.observe import get_logger
from dray.runtime import Clock, Tasks

_log = get_logger("net")
_BACKLOG = 1024
_IDLE_CHECKS = 10
_LAG_SECONDS = 2.0


class CannotListen(Exception):
    """The address cannot be listened on; the message says which and why."""


class Listener:
    """Takes an address with `bind`, and accepts connections there from `serve` to `stop`."""

    def __init__(self, *, settings: NetSettings, clock: Clock, tasks: Tasks, metrics: NetMetrics) -> None:
        self._requests: Requests | None = None
        self._settings = settings
        self._clock = clock
        self._tasks = tasks
        self._metrics = metrics
        self._intake = Intake(settings.broker_in_flight_bytes_max)
        self._was_pressed = False
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        self._connections: dict[Connection, None] = {}
        self._server: asyncio.Server | None = None
        self._address = "", 0
        metrics.open.ask(lambda: len(self._connections))
        metrics.waiting.ask(lambda: self._intake.waiting)
        metrics.in_flight_bytes.ask(lambda: self._intake.held)

    @property
    def connections(self) -> int:
        return len(self._connections)

    @property
    def in_flight_bytes(self) -> int:
        return self._intake.held

    async def bind(self, host: str, port: int) -> int:
        """Take the address; returns the port, which the system chooses if 0 was asked for."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                self._connection, host, port, backlog=_BACKLOG, start_serving=False
            )
        except OSError as error:
            raise CannotListen(why_unbound(error, host, port)) from error
        self._address = host, int(self._server.sockets[0].getsockname()[1])
        return self._address[1]

    async def serve(self, requests: Requests) -> None:
        """Accept connections and hand their requests on.

        Somebody else may have begun to listen at the address after it was taken: only now is that a fault.
        """
        assert self._server is not None, "bind comes first"
        self._requests = requests
        try:
            await self._server.start_serving()
            _check_listening(self._server)
        except OSError as error:
            raise CannotListen(why_unbound(error, *self._address)) from error
        interval = self._settings.idle_ms / 1000 / _IDLE_CHECKS
        self._tasks.every(interval, self._close_idle, name="idle-connections", clock=self._clock)
        self._tasks.every(_LAG_SECONDS, self._close_lagging, name="lagging-connections", clock=self._clock)

    async def stop(self) -> None:
        """Accept nothing more, let what was asked be answered, then close everything."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            if connection.idle:
                connection.close(Cause.STOPPING, "the broker is stopping")
        try:
            async with asyncio.timeout(self._settings.drain_ms / 1000):
                await self._drained()
        except TimeoutError:
            _log.warning("answers_given_up", connections=len(self._connections))
        for connection in list(self._connections):
            connection.close(Cause.STOPPING, "the broker is stopping")

    def opened(self, connection: Connection) -> bool:
        self._connections[connection] = None
        return len(self._connections) <= self._settings.connections_max

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
            intake=self._intake,
            clock=self._clock,
            tasks=self._tasks,
        )

    async def _drained(self) -> None:
        while any(not connection.idle for connection in self._connections):
            await self._clock.sleep(0.01)

    async def _close_idle(self) -> None:
        oldest = self._clock.monotonic() - self._settings.idle_ms / 1000
        for connection in list(self._connections):
            if connection.last_active < oldest and connection.idle:
                connection.close(Cause.IDLE, "it was idle")

    async def _close_lagging(self) -> None:
        """While others wait for room, whoever sends a request must not take for ever over it."""
        was_pressed, self._was_pressed = self._was_pressed, self._intake.pressed
        if not self._was_pressed:
            return
        for connection in list(self._connections):
            if connection.lags() and was_pressed:
                connection.close(Cause.SLOW, "it sends too slowly while others wait for room")


def _check_listening(server: asyncio.Server) -> None:
    """Raise if a socket is gone: uvloop drops one that cannot listen, and says nothing."""
    if any(one.fileno() < 0 for one in server.sockets):
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
