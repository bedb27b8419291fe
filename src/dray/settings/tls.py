"""TLS settings."""

import ssl
from typing import Annotated, Final

from msgspec import Meta, Struct

from dray.net.endpoints import parse_by_listener
from dray.net.principal_rules import PrincipalRules
from dray.net.tls import VERSIONS, ClientAuth
from dray.settings.secret import Secret

_PEM: Final = "the path of a PEM file"


class TlsSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """TLS of the listeners with the protocols SSL and SASL_SSL. The files are read again when they change."""

    certificate_file: Annotated[
        str | None,
        Meta(
            description="File with the broker's certificate, followed by those of the authorities between it "
            "and the root (Kafka: `ssl.keystore.location` with `ssl.keystore.type=PEM`).",
            extra={"allowed": _PEM},
        ),
    ] = None
    key_file: Annotated[
        str | None,
        Meta(
            description="File with the private key; unset, it is in the certificate's file.",
            extra={"allowed": _PEM},
        ),
    ] = None
    key_password: Annotated[
        Secret | None, Meta(description="Password of the private key (Kafka: `ssl.key.password`).")
    ] = None
    client_ca_file: Annotated[
        str | None,
        Meta(
            description="File with the certificates of the authorities that sign clients' certificates "
            "(Kafka: `ssl.truststore.location` with `ssl.truststore.type=PEM`).",
            extra={"allowed": _PEM},
        ),
    ] = None
    client_auth: Annotated[
        str,
        Meta(
            description="Whether clients must present a certificate (Kafka: `ssl.client.auth`); for single "
            "listeners as NAME:VALUE. On SASL_SSL listeners it is none unless set for the listener by name.",
            extra={"allowed": "none, requested or required, or a list such as required,INTERNAL:none"},
        ),
    ] = "none"
    protocols: Annotated[
        str,
        Meta(
            description="Enabled versions of TLS (Kafka: `ssl.enabled.protocols`).",
            extra={"allowed": "TLSv1.2, TLSv1.3 or TLSv1.2,TLSv1.3"},
        ),
    ] = "TLSv1.2,TLSv1.3"
    ciphers: Annotated[
        str | None,
        Meta(
            description="Cipher suites of TLS 1.2 (Kafka: `ssl.cipher.suites`, with Java's names). Those of "
            "TLS 1.3, which are all secure, cannot be chosen. Unset: those with forward secrecy and "
            "authenticated encryption.",
            extra={"allowed": "a list in OpenSSL's format, such as ECDHE+AESGCM:ECDHE+CHACHA20"},
        ),
    ] = None
    principal_mapping_rules: Annotated[
        str,
        Meta(
            description="Rules that map a client certificate's subject to its principal (Kafka: "
            "`ssl.principal.mapping.rules`).",
            extra={"allowed": "DEFAULT, RULE:PATTERN/REPLACEMENT/[LU], or a list of these"},
        ),
    ] = "DEFAULT"
    reload_interval_ms: Annotated[
        int, Meta(ge=100, description="How often the files are checked for changes.")
    ] = 5_000

    def __post_init__(self) -> None:
        self.versions()
        self.client_auth_by_listener()
        try:
            PrincipalRules(self.principal_mapping_rules)
        except ValueError as error:
            raise ValueError(f"principal_mapping_rules: {error}") from None

    def versions(self) -> list[ssl.TLSVersion]:
        """Return the enabled versions, the oldest first."""
        names = [name.strip() for name in self.protocols.split(",")]
        unknown = [name for name in names if name not in VERSIONS]
        if unknown:
            raise ValueError(f"protocols: {unknown[0]!r} is unknown; expected {' or '.join(VERSIONS)}")
        return sorted(VERSIONS[name] for name in names)

    def client_auth_by_listener(self) -> tuple[ClientAuth, dict[str, ClientAuth]]:
        """Return the value for listeners that are not named, and those of the others."""
        parts = [part.strip() for part in self.client_auth.split(",")]
        general = [part for part in parts if ":" not in part]
        named = parse_by_listener(",".join(part for part in parts if ":" in part))
        if len(general) > 1:
            raise ValueError(f"client_auth has two values for all listeners, {general[0]} and {general[1]}")
        default = _client_auth(general[0]) if general else ClientAuth.NONE
        return default, {name: _client_auth(value) for name, value in named.items()}


def _client_auth(text: str) -> ClientAuth:
    try:
        return ClientAuth(text)
    except ValueError:
        raise ValueError(f"client_auth: {text!r} is unknown; expected {', '.join(ClientAuth)}") from None
