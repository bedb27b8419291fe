"""Types shared by the sockets and the APIs: peers, responses, and the signal to end long polls."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import msgspec
from typing_extensions import Buffer

from dray.api.authorization import Access
from dray.api.request_quota import RequestQuota
from dray.cluster.zones import Origin
from dray.ids import ANONYMOUS, Principal

EncodedResponse = Sequence[Buffer] | None
"""The buffers of a response, with its length in the first one; None if the request gets no response."""

Finish = Callable[[], Awaitable[EncodedResponse]]
"""The completion of a request: waits until it is done, and returns its response."""


class CloseConnection(Exception):
    """The connection must be closed, after a last response if there is one; the message is for the log."""

    def __init__(self, reason: str, response: EncodedResponse = None) -> None:
        super().__init__(reason)
        self.response = response


def _no_connection(_: object) -> None:
    """Do nothing: this peer has no connection."""


class Peer(NamedTuple):
    """The client of a connection."""

    host: str
    port: int
    disconnect: Callable[[str], None] = _no_connection
    """Closes the connection, for errors after its request was answered; the reason is for the log."""
    mute: Callable[[float], None] = _no_connection
    """Throttles the client: for so many seconds the connection is not read and begins no request."""
    listener: str = "PLAINTEXT"
    """The name of the listener that it came by."""
    principal: Principal = ANONYMOUS
    authenticates: bool = False
    """Whether it has not authenticated yet and must. Its requests count towards no quota, as in Kafka."""


class Drain:
    """The signal that the broker is shutting down: long polls return at once what there is."""

    __slots__ = ("_waiting", "started")

    def __init__(self) -> None:
        self.started = False
        self._waiting: set[asyncio.Event] = set()

    def start(self) -> None:
        self.started = True
        for event in self._waiting:
            event.set()

    def watch(self, event: asyncio.Event) -> None:
        """Set `event` when the shutdown starts, until `unwatch`."""
        self._waiting.add(event)
        if self.started:
            event.set()

    def unwatch(self, event: asyncio.Event) -> None:
        self._waiting.discard(event)


class WaitTime(msgspec.Struct):
    """How long a handler has waited on request of the client, which does not count as processing time."""

    seconds: float = 0.0


class Context(msgspec.Struct, frozen=True):
    """The request's header, and the client that sent it."""

    version: int
    correlation_id: int
    client_id: str
    zone: str | None
    peer: Peer
    access: Access
    waited: WaitTime = msgspec.field(default_factory=WaitTime)
    quota: RequestQuota | None = None
    """The quotas of the client, if it has any."""

    @property
    def principal(self) -> Principal:
        return self.peer.principal

    @property
    def origin(self) -> Origin:
        return Origin(self.zone, self.peer.listener)
