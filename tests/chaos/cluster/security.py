"""Encryption and authentication of an experiment's clients: none, or SASL_SSL with ACLs and one user.

Processes of clients learn which from their environment. With TLS the certificate of all brokers is signed by
an authority in a file, and the user is the super user of the cluster.
"""

import os
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from dray.wire import decode_response
from dray.wire.apis.sasl_authenticate import (
    SASL_AUTHENTICATE,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from dray.wire.apis.sasl_handshake import SaslHandshakeRequest
from tests.chaos.cluster.topology import BROKERS, NODES
from tests.net.authority import Authority
from tests.oracle.raw import NotConnected, RawConnection
from tests.oracle.request_client import frame_of
from tests.sasl.clients import plain_message

USER: Final = "chaos"
PASSWORD: Final = "the password of all clients"
_AUTHORITY: Final = "CHAOS_AUTHORITY"
_VALID_FOR: Final = timedelta(days=2)
"""Longer than clocks of brokers are moved."""


@dataclass(frozen=True, slots=True)
class Security:
    """How clients connect."""

    authority: Path | None = None
    """The certificate that signs those of brokers; None without TLS."""

    @classmethod
    def of_environment(cls) -> "Security":
        found = os.environ.get(_AUTHORITY)
        return cls(None if found is None else Path(found))

    @property
    def environment(self) -> dict[str, str]:
        """The environment of processes of clients."""
        return {} if self.authority is None else {_AUTHORITY: str(self.authority)}

    @property
    def protocol(self) -> str:
        return "PLAINTEXT" if self.authority is None else "SASL_SSL"

    def settings(self) -> dict[str, str | int]:
        """Return the settings of librdkafka."""
        if self.authority is None:
            return {}
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
            "ssl.ca.location": str(self.authority),
        }

    @contextmanager
    def connection(self, address: tuple[str, int], timeout_s: float) -> Iterator[RawConnection]:
        """Connect for single requests, and log in."""
        with RawConnection.open(address, timeout_s) as plain:
            if self.authority is None:
                yield plain
                return
            with _encrypted(plain.socket, address[0], self.authority) as encrypted:
                connection = RawConnection(encrypted, timeout_s)
                _log_in(connection)
                yield connection


def with_tls(folder: Path) -> tuple[Security, Mapping[str, Any]]:
    """Make an authority and a certificate; returns how clients connect, and the settings of brokers."""
    authority = Authority(folder)
    addresses = [NODES[name].address for name in BROKERS]
    issued = authority.issue("brokers", addresses=addresses, valid_for=_VALID_FOR)
    settings = {
        "tls": {"certificate_file": str(issued.certificate), "key_file": str(issued.key)},
        "sasl": {"enabled_mechanisms": "SCRAM-SHA-512,PLAIN"},
        "security": {"authorizer_enable": True, "super_users": f"User:{USER}"},
    }
    return Security(authority.file), settings


def _encrypted(connected: socket.socket, host: str, authority: Path) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(authority))
    try:
        return context.wrap_socket(connected, server_hostname=host)
    except OSError as error:
        raise NotConnected(f"TLS handshake with {host}: {error}") from error


def _log_in(connection: RawConnection) -> None:
    connection.exchange(frame_of(SaslHandshakeRequest(mechanism="PLAIN"), 1))
    request = SaslAuthenticateRequest(auth_bytes=plain_message(USER, PASSWORD))
    _, answer = decode_response(SASL_AUTHENTICATE, 2, connection.exchange(frame_of(request, 2)))
    assert isinstance(answer, SaslAuthenticateResponse)
    if answer.error_code:
        raise NotConnected(f"{USER} cannot log in: {answer.error_message}")
