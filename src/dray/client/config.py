"""Client settings: which brokers to contact and how long to wait, as properties of librdkafka."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_CLIENT_ID: Final = "dray-cli"
_METADATA_PROPAGATION_S: Final = 3.0
_ADDRESS: Final = re.compile(r"(?:\[[^\[\]]+\]|[^:\[\]]+):([0-9]+)")
_PORT_MAX: Final = 65_535


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """How to reach a cluster."""

    bootstrap: str
    """HOST:PORT of a broker, or several separated by commas."""
    timeout_s: float = 30.0
    """How long to wait for an answer, and how long to retry."""
    properties_of_user: Mapping[str, str] = field(default_factory=dict)
    """How to authenticate and encrypt, as properties of librdkafka."""

    @property
    def metadata_propagation_s(self) -> float:
        """How long a new topic may be unknown to some brokers."""
        return min(_METADATA_PROPAGATION_S, self.timeout_s)

    def properties(self) -> dict[str, Any]:
        """Return what all clients share. librdkafka prints no logs; clients report what matters."""
        timeout_ms = max(10, int(self.timeout_s * 1000))
        return {
            "bootstrap.servers": self.bootstrap,
            "client.id": _CLIENT_ID,
            "socket.timeout.ms": min(timeout_ms, 300_000),
            "socket.connection.setup.timeout.ms": min(max(1000, timeout_ms), 2_147_483_647),
            "reconnect.backoff.max.ms": 1000,
            "topic.metadata.propagation.max.ms": int(self.metadata_propagation_s * 1000),
            "log_level": 0,
            **self.properties_of_user,
        }


def parse_bootstrap(text: str) -> str:
    """Return HOST:PORT addresses as librdkafka reads them; `ValueError` says what is wrong."""
    addresses = [one.strip() for one in text.split(",")]
    for address in addresses:
        found = _ADDRESS.fullmatch(address)
        if found is None:
            raise ValueError(f"expected HOST:PORT, got {address!r}")
        if not 0 < int(found[1]) <= _PORT_MAX:
            raise ValueError(f"expected a port from 1 to {_PORT_MAX}, got {address!r}")
    return ",".join(addresses)
