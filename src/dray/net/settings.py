"""Connection settings."""

import ipaddress
from typing import Annotated

from msgspec import Meta, Struct

from dray.net.endpoints import parse_by_listener

_MIB = 1 << 20


class NetSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Connection limits and timeouts."""

    socket_request_max_bytes: Annotated[
        int,
        Meta(
            ge=1024,
            le=2**31 - 1,
            description="Maximum size of a request; a larger one closes its connection "
            "(Kafka: `socket.request.max.bytes`).",
        ),
    ] = 100 * _MIB
    in_flight_bytes_max: Annotated[
        int,
        Meta(
            ge=1024,
            description="Maximum bytes of unanswered requests per connection; at the limit the broker stops "
            "reading from it.",
        ),
    ] = 64 * _MIB
    broker_in_flight_bytes_max: Annotated[
        int,
        Meta(
            ge=1024,
            description="Maximum bytes of unanswered and partly received requests of all connections; at the "
            "limit connections are paused and resumed in order. Each may always use 16 KiB, and one at a "
            "time may exceed the limit with a single large request (compare Kafka's "
            "`queued.max.request.bytes`).",
        ),
    ] = 512 * _MIB
    in_flight_requests_max: Annotated[
        int, Meta(ge=1, description="Maximum number of unanswered requests per connection.")
    ] = 1024
    connections_max: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum number of open connections; further ones are closed at once "
            "(Kafka: `max.connections`).",
        ),
    ] = 10_000
    connections_per_listener_max: Annotated[
        str | None,
        Meta(
            description="Maximum number of open connections of single listeners "
            "(Kafka: `listener.name.NAME.max.connections`).",
            extra={"allowed": "NAME:NUMBER,…"},
        ),
    ] = None
    connections_per_ip_max: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum number of open connections of one address, or of one IPv6 network (/64) "
            "(Kafka: `max.connections.per.ip`).",
        ),
    ] = 2**31 - 1
    connections_per_ip_overrides: Annotated[
        str | None,
        Meta(
            description="Other maximums for single addresses (Kafka: `max.connections.per.ip.overrides`, "
            "which also takes host names).",
            extra={"allowed": "IP:NUMBER,…, an IPv6 address in brackets"},
        ),
    ] = None
    connection_rate_max: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="Maximum number of connections accepted in a second; further ones wait "
            "(Kafka: `max.connection.creation.rate`).",
            extra={"allowed": "an integer of at least 1"},
        ),
    ] = None
    connection_rate_per_listener_max: Annotated[
        str | None,
        Meta(
            description="The same for single listeners (Kafka: "
            "`listener.name.NAME.max.connection.creation.rate`).",
            extra={"allowed": "NAME:NUMBER,…"},
        ),
    ] = None
    tls_handshake_timeout_ms: Annotated[
        int, Meta(ge=100, description="Close a connection whose TLS handshake takes longer than this.")
    ] = 10_000
    tls_handshakes_max: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum number of TLS handshakes in progress; at the limit the oldest is ended if "
            "it has taken more than a second, else further connections wait.",
        ),
    ] = 256
    connections_max_idle_ms: Annotated[
        int,
        Meta(
            ge=1000,
            description="Close a connection that was idle for this long (Kafka: `connections.max.idle.ms`).",
        ),
    ] = 600_000
    authentication_timeout_ms: Annotated[
        int,
        Meta(
            ge=1000,
            description="Close a connection whose client has not authenticated with SASL within this time.",
        ),
    ] = 30_000
    shutdown_drain_timeout_ms: Annotated[
        int,
        Meta(
            ge=0,
            description="How long a broker that shuts down waits for requests in flight, such as produces "
            "that are not durable yet. Long polls and group members are answered at once.",
        ),
    ] = 10_000

    def __post_init__(self) -> None:
        for read in (self.ip_overrides, self.listener_maxima, self.listener_rates):
            read()

    def ip_overrides(self) -> dict[str, int]:
        """Return the maximum number of connections of single addresses."""
        found: dict[str, int] = {}
        for one in filter(
            None, (part.strip() for part in (self.connections_per_ip_overrides or "").split(","))
        ):
            host, _, number = one.rpartition(":")
            try:
                ip = ipaddress.ip_address(host.strip("[]"))
            except ValueError as error:
                raise ValueError(f"connections_per_ip_overrides: {error}; expected IP:NUMBER") from None
            found[str(ip)] = _number("connections_per_ip_overrides", number, least=0)
        return found

    def listener_maxima(self) -> dict[str, int]:
        """Return the maximum number of connections of single listeners."""
        return _by_listener("connections_per_listener_max", self.connections_per_listener_max)

    def listener_rates(self) -> dict[str, int]:
        """Return how many connections a second single listeners accept."""
        return _by_listener("connection_rate_per_listener_max", self.connection_rate_per_listener_max)


def _by_listener(key: str, text: str | None) -> dict[str, int]:
    try:
        values = parse_by_listener(text or "")
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None
    return {name: _number(key, value, least=1) for name, value in values.items()}


def _number(key: str, text: str, *, least: int) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) < least:
        raise ValueError(f"{key}: expected a number of at least {least}, got {text!r}")
    return int(text)
