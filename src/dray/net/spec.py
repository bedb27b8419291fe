"""Listeners as the sockets need them: address, TLS, and the gate of connections that must authenticate."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from dray.api.exchange import Finish, Peer
from dray.cluster.brokers import PLAINTEXT
from dray.ids import ANONYMOUS, USER, Principal
from dray.net.principal_rules import PrincipalRules, UnmappedSubject
from dray.net.subjects import subject_name
from dray.net.tls import ClientAuth, TlsContexts

Begin = Callable[[memoryview, Peer], Awaitable[Finish]]
"""Begins a request of a client; raises `CloseConnection` if it cannot be answered."""


class Channel(Protocol):
    """A connection, as its gate sees it."""

    peer: Peer
    """The client; replaced when it has authenticated."""

    def limit_request(self, bytes_max: int | None) -> None:
        """Lower the maximum size of requests until the client has authenticated; None then restores it.

        A connection that stays limited for too long is closed.
        """
        ...

    def disconnect(self, reason: str) -> None:
        """Close the connection; the reason is for the log."""
        ...


Gate = Callable[[Channel, Begin], Begin]
"""Returns the function that begins the requests of a new connection; those that pass reach the given one."""


class ClientAddress(NamedTuple):
    """Where a connection comes from."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ListenerTls:
    """TLS of one listener."""

    contexts: TlsContexts
    auth: ClientAuth = ClientAuth.NONE
    rules: PrincipalRules | None = None
    """How a certificate's subject becomes a principal; None if it does not, as with SASL."""

    def principal(self, transport: asyncio.BaseTransport) -> Principal:
        """Return the principal of the client; raises `UnmappedSubject`."""
        if self.rules is None or self.auth is ClientAuth.NONE:
            return ANONYMOUS
        certificate = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
        if certificate is None:
            return ANONYMOUS
        try:
            name = subject_name(certificate)
        except ValueError as error:
            message = f"the subject of the client's certificate cannot be read: {error}"
            raise UnmappedSubject(message) from error
        return Principal(USER, self.rules.name_of(name))


@dataclass(frozen=True, slots=True)
class ListenerSpec:
    """One listener: its address, name, TLS and gate."""

    host: str
    port: int
    name: str = PLAINTEXT
    tls: ListenerTls | None = None
    gate: Gate | None = None
