"""Connection settings of aiokafka."""

from typing import Any

from aiokafka.abc import AbstractTokenProvider  # type: ignore[import-untyped]
from aiokafka.helpers import create_ssl_context  # type: ignore[import-untyped]

from tests.clients.security import Security, token_of


class Tokens(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, security: Security) -> None:
        self._security = security

    async def token(self) -> str:
        return token_of(self._security)[0]


def connection(bootstrap: str, security: Security | None) -> dict[str, Any]:
    settings: dict[str, Any] = {"bootstrap_servers": bootstrap}
    if security is None:
        return settings
    settings |= {
        "security_protocol": security.protocol,
        "ssl_context": create_ssl_context(
            cafile=security.ca_file, certfile=security.certificate_file, keyfile=security.key_file
        ),
        "sasl_mechanism": security.mechanism,
        "sasl_plain_username": security.username,
        "sasl_plain_password": security.password,
        "sasl_oauth_token_provider": Tokens(security) if security.token_file else None,
    }
    return {name: value for name, value in settings.items() if value is not None}
