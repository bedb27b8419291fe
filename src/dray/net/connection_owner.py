"""Interfaces of a connection: the handler of its requests, and the owner of all connections."""

from typing import TYPE_CHECKING, NamedTuple, Protocol

from dray.api.exchange import Finish, Peer
from dray.net.limits import Slot
from dray.net.metrics import Cause
from dray.net.spec import ClientAddress, ListenerSpec

if TYPE_CHECKING:
    from dray.net.connection import Connection


class Requests(Protocol):
    """The handler of all requests."""

    async def begin(self, frame: memoryview, peer: Peer) -> Finish:
        """Begin a request; raises `CloseConnection` if it cannot be answered."""
        ...

    def drain(self) -> None:
        """Answer at once every request that waits for something other than its own completion."""
        ...


class Owner(Protocol):
    """The owner of all connections."""

    def opened(self, connection: "Connection") -> Cause | None:
        """Register a connection; returns why it must be closed at once, if it must."""
        ...

    def closing(self, client: ClientAddress, cause: Cause, reason: str) -> None:
        """Log that the broker closes a connection."""
        ...

    def closed(self, connection: "Connection", cause: Cause) -> None: ...

    def unexpected_tls(self, listener: str, client: ClientAddress, reason: str) -> None:
        """Report a client that speaks TLS to a listener that does not."""
        ...


class Accepted(NamedTuple):
    """An accepted connection: by which listener, from where, and its place among all connections."""

    spec: ListenerSpec
    client: ClientAddress
    slot: Slot
