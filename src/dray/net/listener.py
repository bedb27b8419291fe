"""The listening socket and all connections that came of it."""

import asyncio

from dray.net.connection import Connection, Requests
from dray.net.frames import SCRATCH_BYTES
from dray.net.settings import NetSettings
from dray.observe import get_logger
from dray.runtime import Clock, Tasks

_log = get_logger("net")
_BACKLOG = 1024
_IDLE_CHECKS = 10


class CannotListen(Exception):
    """The address cannot be listened on; the message says which and why."""


class Listener:
    """Takes an address with `bind`, and accepts connections there from `serve` to `stop`."""

    def __init__(self, *, settings: NetSettings, clock: Clock, tasks: Tasks) -> None:
        self._requests: Requests | None = None
        self._settings = settings
        self._clock = clock
        self._tasks = tasks
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        self._connections: dict[Connection, None] = {}
        self._server: asyncio.Server | None = None
        self._all_gone = asyncio.Event()
        self._all_gone.set()

    @property
    def connections(self) -> int:
        return len(self._connections)

    async def bind(self, host: str, port: int) -> int:
        """Take the address; returns the port, which the system chooses if 0 was asked for."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                self._connection, host, port, backlog=_BACKLOG, start_serving=False
            )
        except OSError as error:
            raise CannotListen(
                f"cannot listen on {host}:{port}: {error.strerror or error}; "
                "stop what uses it, or choose another address"
            ) from error
        return int(self._server.sockets[0].getsockname()[1])

    async def serve(self, requests: Requests) -> None:
        """Accept connections and hand their requests on."""
        assert self._server is not None, "bind comes first"
        self._requests = requests
        await self._server.start_serving()
        interval = self._settings.idle_ms / 1000 / _IDLE_CHECKS
        self._tasks.every(interval, self._close_idle, name="idle-connections", clock=self._clock)

    async def stop(self) -> None:
        """Accept nothing more, let what was asked be answered, then close everything."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            if connection.idle:
                connection.close("the broker is stopping")
        try:
            async with asyncio.timeout(self._settings.drain_ms / 1000):
                await self._drained()
        except TimeoutError:
            _log.warning("answers_given_up", connections=len(self._connections))
        for connection in list(self._connections):
            connection.close("the broker is stopping")

    def opened(self, connection: Connection) -> bool:
        self._connections[connection] = None
        self._all_gone.clear()
        return len(self._connections) <= self._settings.connections_max

    def closed(self, connection: Connection) -> None:
        self._connections.pop(connection, None)
        if not self._connections:
            self._all_gone.set()

    def _connection(self) -> Connection:
        assert self._requests is not None
        return Connection(
            self._requests,
            self,
            scratch=self._scratch,
            settings=self._settings,
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
                connection.close("it was idle")
