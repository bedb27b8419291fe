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

    oauthbearer_jwks: Annotated[
        Annotated[str, Meta(pattern=r"^(https://|file:|/|\./).+$")] | None,
        Meta(
            description="JSON Web Key Set with the public keys that sign tokens (Kafka: "
            "`sasl.oauthbearer.jwks.endpoint.url`).",
            extra={"allowed": "https://HOST/PATH, or the path of a file"},
        ),
    ] = None
    oauthbearer_jwks_refresh_ms: Annotated[
        int,
        Meta(
            ge=1_000,
            description="How often the key set is read again (Kafka: "
            "`sasl.oauthbearer.jwks.endpoint.refresh.ms`).",
        ),
    ] = 3_600_000
    oauthbearer_expected_issuer: Annotated[
        str | None,
        Meta(description="Issuer that tokens must name (Kafka: `sasl.oauthbearer.expected.issuer`)."),
    ] = None
    oauthbearer_expected_audience: Annotated[
        str | None,
        Meta(
            description="Audiences of which tokens must name one, separated by commas; unset, tokens with an "
            "audience are refused (Kafka: `sasl.oauthbearer.expected.audience`)."
        ),
    ] = None
    oauthbearer_clock_skew_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=600_000,
            description="Tolerated difference of clocks (Kafka: `sasl.oauthbearer.clock.skew.seconds`).",
        ),
    ] = 30_000
    oauthbearer_sub_claim_name: Annotated[
        str, Meta(description="Claim with the user's name (Kafka: `sasl.oauthbearer.sub.claim.name`).")
    ] = "sub"
    oauthbearer_scope_claim_name: Annotated[
        str, Meta(description="Claim with the scopes (Kafka: `sasl.oauthbearer.scope.claim.name`).")
    ] = "scope"

    @property
    def oauthbearer_audiences(self) -> tuple[str, ...]:
        parts = (self.oauthbearer_expected_audience or "").split(",")
        return tuple(part.strip() for part in parts if part.strip())

    @property
    def mechanisms(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.enabled_mechanisms.split(","))
