"""Settings of connections and of authentication with SASL."""

from typing import Annotated

from msgspec import Meta, Struct

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
    connections_max_idle_ms: Annotated[
        int,
        Meta(
            ge=1000,
            description="Close a connection that was idle for this long (Kafka: `connections.max.idle.ms`).",
        ),
    ] = 600_000
    shutdown_drain_timeout_ms: Annotated[
        int,
        Meta(
            ge=0,
            description="How long a broker that shuts down waits for requests in flight, such as produces "
            "that are not durable yet. Long polls and group members are answered at once.",
        ),
    ] = 10_000


class SaslSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Authentication of clients on listeners with SASL."""

    enabled_mechanisms: Annotated[
        str,
        Meta(
            pattern=r"^[A-Z0-9-]+(, *[A-Z0-9-]+)*$",
            description="Mechanisms that clients may use, separated by commas (Kafka: "
            "`sasl.enabled.mechanisms`).",
            extra={"allowed": "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER"},
        ),
    ] = "SCRAM-SHA-256,SCRAM-SHA-512"
    connections_max_reauth_ms: Annotated[
        int,
        Meta(
            ge=0,
            description="Lifetime of a session, after which a client must authenticate again; 0 leaves it to "
            "the lifetime of its token (Kafka: `connections.max.reauth.ms`).",
        ),
    ] = 0
    connection_failed_authentication_delay_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000,
            description="Delay of the answer to a failed authentication (Kafka: "
            "`connection.failed.authentication.delay.ms`).",
        ),
    ] = 100

    @property
    def mechanisms(self) -> tuple[str, ...]:
        return tuple(one.strip() for one in self.enabled_mechanisms.split(","))
