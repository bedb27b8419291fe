"""All listeners of a broker and their connections, which share the memory for requests and the limits."""

import asyncio

from dray.net.budget import BrokerBudget
from dray.net.connection import Connection
from dray.net.connection_owner import Accepted, Requests
from dray.net.frames import SCRATCH_BYTES
from dray.net.handshakes import Handshakes
from dray.net.limited_lines import LimitedLines
from dray.net.limits import ConnectionLimits, RateOf, Slot
from dray.net.listener import Listener, Shared
from dray.net.metrics import Cause, NetMetrics
from dray.net.settings import NetSettings
from dray.net.spec import ClientAddress, ListenerSpec
from dray.observe import get_logger
from dray.runtime import Clock, Tasks

_log = get_logger("net")
_IDLE_CHECKS = 10
_SLOW_CHECK_SECONDS = 2.0
_CLIENT_SECONDS = 1.0
"""How long a shutdown waits for a client that neither reads its responses nor closes."""
_DRAIN_CHECK_SECONDS = 0.01


class SocketServer:
    """Binds listeners with `bind`, and serves their connections from `serve` to `stop`."""

    def __init__(
        self,
        *,
        settings: NetSettings,
        clock: Clock,
        tasks: Tasks,
        metrics: NetMetrics,
    ) -> None:
        self._requests: Requests | None = None
        self._settings = settings
        self._clock = clock
        self._tasks = tasks
        self._metrics = metrics
        self._budget = BrokerBudget(settings.broker_in_flight_bytes_max)
        self._shared = Shared(
            settings,
            clock,
            tasks,
            metrics,
            ConnectionLimits(settings),
            Handshakes(settings.tls_handshakes_max),
            LimitedLines(),
        )
        self._was_blocked = False
        self._stopping = False
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        self._listeners: dict[str, Listener] = {}
        self._connections: dict[Connection, None] = {}
        metrics.waiting.set_function(lambda: self._budget.waiting)
        metrics.in_flight_bytes.set_function(lambda: self._budget.used)
        metrics.handshaking.set_function(lambda: len(self._shared.handshakes))

    @property
    def connections(self) -> int:
        return len(self._connections)

    @property
    def in_flight_bytes(self) -> int:
        return self._budget.used

    async def bind(self, spec: ListenerSpec) -> int:
        """Bind the address of a listener; returns the port, which the system chooses for port 0."""
        listener = Listener(spec, self._shared, self._connection)
        port = await listener.bind()
        self._listeners[spec.name] = listener
        return port

    def limit_addresses(self, rate_of: RateOf) -> None:
        """Set how many connections a second each address may open."""
        self._shared.limits.rate_of = rate_of

    async def serve(self, requests: Requests) -> None:
        """Accept connections and hand over their requests; raises `CannotListen`."""
        self._requests = requests
        for listener in self._listeners.values():
            listener.accept()
        interval = self._settings.connections_max_idle_ms / 1000 / _IDLE_CHECKS
        every = self._tasks.every
        every(interval, self._close_idle, name="idle-connections", clock=self._clock)
        every(_SLOW_CHECK_SECONDS, self._close_slow, name="slow-connections", clock=self._clock)
        every(_SLOW_CHECK_SECONDS, self._close_unauthenticated, name="late-logins", clock=self._clock)

    async def stop(self) -> None:
        """Accept no more connections and requests, answer those received, then close everything.

        Long polls end at once, so only produces that are not durable yet take time.
        """
        self._stopping = True
        for listener in self._listeners.values():
            listener.stop()
        self._shared.handshakes.cancel()
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
        return Cause.STOPPING if self._stopping else None

    def closed(self, connection: Connection, cause: Cause) -> None:
        self._connections.pop(connection, None)
        self._metrics.closed.labels(cause).inc()

    def closing(self, client: ClientAddress, cause: Cause, reason: str) -> None:
        self._shared.lines.connection_closed(self._clock.monotonic(), str(client), cause, reason)

    def unexpected_tls(self, listener: str, client: ClientAddress, reason: str) -> None:
        self._listeners[listener].handshake_failed(client, reason)

    def _connection(self, spec: ListenerSpec, client: ClientAddress, slot: Slot) -> Connection:
        assert self._requests is not None
        return Connection(
            self._requests.begin,
            self,
            Accepted(spec, client, slot),
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
                if connection.outgoing.is_stalled(_CLIENT_SECONDS):
                    connection.close(Cause.STOPPING, "the client did not close in time")
            await self._clock.sleep(_DRAIN_CHECK_SECONDS)

    async def _close_idle(self) -> None:
        oldest = self._clock.monotonic() - self._settings.connections_max_idle_ms / 1000
        for connection in list(self._connections):
            if connection.is_idle_since(oldest):
                connection.close(Cause.IDLE, "idle for net.connections_max_idle_ms")

    async def _close_unauthenticated(self) -> None:
        latest = self._clock.monotonic() - self._settings.authentication_timeout_ms / 1000
        for connection in list(self._connections):
            if connection.is_unauthenticated_since(latest):
                connection.close(Cause.UNAUTHENTICATED, "not authenticated in time")

    async def _close_slow(self) -> None:
        """Close connections that send a request too slowly while others wait for its memory."""
        was_blocked, self._was_blocked = self._was_blocked, self._budget.is_blocked
        if not self._was_blocked:
            return
        for connection in list(self._connections):
            if connection.is_slow() and was_blocked:
                connection.close(Cause.SLOW, "it sends too slowly while others wait for memory")
