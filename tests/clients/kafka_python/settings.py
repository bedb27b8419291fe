"""Connection settings of kafka-python."""

from typing import Any

from kafka.net.sasl.oauth import AbstractTokenProvider  # type: ignore[import-untyped]

from tests.clients.security import Security, token_of

BOOTSTRAP_MS = 10_000
"""It tries again for this long, also after a refusal; its default is three times as long."""


class Tokens(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, security: Security) -> None:
        self._security = security

    def token(self) -> str:
        return token_of(self._security)[0]


def connection(bootstrap: str, security: Security | None) -> dict[str, Any]:
    settings: dict[str, Any] = {"bootstrap_servers": bootstrap}
    if security is None:
        return settings
    settings |= {
        "bootstrap_timeout_ms": BOOTSTRAP_MS,
        "security_protocol": security.protocol,
        "ssl_cafile": security.ca_file,
        "ssl_certfile": security.certificate_file,
        "ssl_keyfile": security.key_file,
        "sasl_mechanism": security.mechanism,
        "sasl_plain_username": security.username,
        "sasl_plain_password": security.password,
        "sasl_oauth_token_provider": Tokens(security) if security.token_file else None,
    }
    return {name: value for name, value in settings.items() if value is not None}
