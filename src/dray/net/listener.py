"""One listener: its sockets, the connections it accepts, and their TLS handshakes.

    bound ─▶ accepting ─▶ accepted: limits ─▶ TLS handshake ─▶ `Connection`

Sockets are accepted here and not by the event loop's server, for three reasons: accepting can be delayed,
which is how a rate is limited without losing connections; a connection counts before its handshake, which
costs more than most requests; and each handshake gets the TLS context of its moment, which is all that a
reload of certificates takes.
"""

import asyncio
import errno
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from dray.acls import canonical_host
from dray.net.handshakes import Handshakes, reason_of
from dray.net.limited_lines import LimitedLines
from dray.net.limits import ConnectionLimits, Slot
from dray.net.metrics import Cause, HandshakeOutcome, NetMetrics
from dray.net.settings import NetSettings
from dray.net.sockets import CannotListen, bind_error_message, bound_socket
from dray.net.spec import ClientAddress, ListenerSpec
from dray.net.tls import accepted_socket
from dray.observe import get_logger
from dray.runtime import Clock, Tasks

_log = get_logger("net")
_BACKLOG: Final = 1024
_ACCEPTED_AT_ONCE: Final = 32
"""Connections that are accepted before those that are open get processor time again."""
_EXHAUSTED_SECONDS: Final = 1.0
_PAUSE_SECONDS_MIN: Final = 0.001
_HELD_MAX: Final = 1000
_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
Connect = Callable[[ListenerSpec, ClientAddress, Slot], asyncio.BaseProtocol]
"""Makes the protocol object of a connection, which releases the slot when the connection is lost."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What the listeners of a broker share."""

    settings: NetSettings
    clock: Clock
    tasks: Tasks
    metrics: NetMetrics
    limits: ConnectionLimits
    handshakes: Handshakes
    lines: LimitedLines


class Listener:
    """Binds an address with `bind`, and accepts connections from `accept` to `stop`."""

    def __init__(self, spec: ListenerSpec, shared: Shared, connect: Connect, purpose: str = "") -> None:
        self.spec = spec
        self._purpose = purpose
        self._shared = shared
        self._connect = connect
        self._sockets: list[socket.socket] = []
        self._accepting = False
        self._stopped = False
        self._held = 0
        self._timeout_s = shared.settings.tls_handshake_timeout_ms / 1000
        shared.metrics.open.labels(spec.name).set_function(lambda: shared.limits.of(spec.name))

    async def bind(self) -> int:
        """Bind the address; returns the port, which the system chooses for port 0."""
        host, port = self.spec.host, self.spec.port
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            for family, _, _, _, address in dict.fromkeys(found):
                self._sockets.append(bound_socket(family, (address[0], port, *address[2:])))
                port = int(self._sockets[0].getsockname()[1])
        except OSError as error:
            self._close_sockets()
            raise CannotListen(bind_error_message(error, host, port, self._purpose)) from error
        return port

    def accept(self) -> None:
        """Accept connections from now on.

        Two processes can bind one address; the one that listens later fails here.
        """
        try:
            for bound in self._sockets:
                bound.listen(_BACKLOG)
        except OSError as error:
            message = bind_error_message(error, self.spec.host, self._port, self._purpose)
            raise CannotListen(message) from error
        self._resume()

    def stop(self) -> None:
        """Accept no more connections."""
        self._pause()
        self._stopped = True
        self._close_sockets()

    @property
    def _port(self) -> int:
        return int(self._sockets[0].getsockname()[1])

    def _close_sockets(self) -> None:
        for bound in self._sockets:
            bound.close()
        self._sockets = []

    def _resume(self) -> None:
        if not self._accepting and not self._stopped:
            self._accepting = True
            for bound in self._sockets:
                asyncio.get_running_loop().add_reader(bound.fileno(), self._accept_some, bound)

    def _pause(self) -> None:
        if self._accepting:
            self._accepting = False
            for bound in self._sockets:
                asyncio.get_running_loop().remove_reader(bound.fileno())

    def _pause_for(self, seconds: float) -> None:
        self._pause()
        self._shared.tasks.start(self._resume_after(max(seconds, _PAUSE_SECONDS_MIN)), name="accept-later")

    async def _resume_after(self, seconds: float) -> None:
        await self._shared.clock.sleep(seconds)
        self._resume()

    def _accept_some(self, waiting: socket.socket) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            wait_s = self._wait_s()
            if wait_s:
                self._pause_for(wait_s)
                return
            try:
                accepted, address = waiting.accept()
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    return  # none is waiting, or its network failed
                _log.error("accept_failed", listener=self.spec.name, error=os.strerror(error.errno))
                self._pause_for(_EXHAUSTED_SECONDS)
                return
            self._take(accepted, ClientAddress(canonical_host(str(address[0])), int(address[1])))

    def _wait_s(self) -> float:
        """Return for how long nothing may be accepted."""
        now = self._shared.clock.monotonic()
        wait_s = self._shared.limits.accept_wait_s(self.spec.name, now)
        return wait_s if self.spec.tls is None else max(wait_s, self._shared.handshakes.wait_s(now))

    def _take(self, accepted: socket.socket, client: ClientAddress) -> None:
        shared, name = self._shared, self.spec.name
        now = shared.clock.monotonic()
        shared.limits.accepted(name, now)
        accepted.settimeout(0)
        refusal = shared.limits.refusal(name, client.host)
        if refusal is not None:
            shared.lines.connection_closed(now, str(client), Cause.TOO_MANY, refusal)
            shared.metrics.closed.labels(Cause.TOO_MANY).inc()
            accepted.close()
            return
        early_s = shared.limits.ip_wait_s(client.host, now)
        if early_s:
            shared.metrics.closed.labels(Cause.TOO_FAST).inc()
            shared.tasks.start(self._hold(accepted, early_s), name="connection-held")
            return
        slot = shared.limits.open(name, client.host)
        task = shared.tasks.start(self._begin(accepted, client, slot), name="connection-accepted")
        if self.spec.tls is not None:
            shared.handshakes.begin(task, now)
            task.add_done_callback(shared.handshakes.end)

    async def _hold(self, accepted: socket.socket, seconds: float) -> None:
        """Close a connection after a while, so that the client does not connect again at once."""
        self._held += 1
        try:
            if self._held <= _HELD_MAX:
                await self._shared.clock.sleep(seconds)
        finally:
            self._held -= 1
            accepted.close()

    async def _begin(self, accepted: socket.socket, client: ClientAddress, slot: Slot) -> None:
        """Hand an accepted socket to the event loop; with TLS, this ends after the handshake."""
        loop, tls = asyncio.get_running_loop(), self.spec.tls
        connect = partial(self._connect, self.spec, client, slot)
        try:
            if tls is None:
                await loop.connect_accepted_socket(connect, accepted)
                return
            accepted_socket.set(accepted)
            await loop.connect_accepted_socket(
                connect,
                accepted,
                ssl=tls.contexts.context(tls.auth),
                ssl_handshake_timeout=self._timeout_s,
                ssl_shutdown_timeout=max(self._shared.settings.shutdown_drain_timeout_ms / 1000, 1.0),
            )
        except OSError as error:
            slot.release()
            if tls is not None:
                self.handshake_failed(client, reason_of(error, self._timeout_s))
        except BaseException as error:
            slot.release()
            if isinstance(error, asyncio.CancelledError) and not self._stopped:
                self.handshake_failed(client, "others waited, and it made no progress")
            raise
        else:
            self._shared.metrics.handshakes.labels(self.spec.name, HandshakeOutcome.COMPLETED).inc()

    def handshake_failed(self, client: ClientAddress, reason: str) -> None:
        """Count a failed handshake, and log it unless there are too many."""
        self._shared.metrics.handshakes.labels(self.spec.name, HandshakeOutcome.FAILED).inc()
        now = self._shared.clock.monotonic()
        self._shared.lines.handshake_failed(now, self.spec.name, str(client), reason)
