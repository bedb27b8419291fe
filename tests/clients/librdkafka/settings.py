"""Connection settings of librdkafka."""

from typing import Any

from tests.clients.security import Security, token_of

Settings = dict[str, Any]


def connection(bootstrap: str, security: Security | None) -> Settings:
    settings: Settings = {"bootstrap.servers": bootstrap}
    if security is None:
        return settings
    settings |= {
        "security.protocol": security.protocol,
        "ssl.ca.location": security.ca_file,
        "ssl.certificate.location": security.certificate_file,
        "ssl.key.location": security.key_file,
        "sasl.mechanism": security.mechanism,
        "sasl.username": security.username,
        "sasl.password": security.password,
    }
    if security.mechanism == "OAUTHBEARER":
        settings["oauth_cb"] = lambda _: token_of(security)
    return {name: value for name, value in settings.items() if value is not None}
