"""Settings of authentication with SASL."""

from typing import Annotated

from msgspec import Meta, Struct


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
