"""The matrix on a real Apache Kafka: a SASL listener for the users, and the authorizer of the cluster."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from dray.wire import decode_response
from dray.wire.apis.api_versions import ApiVersionsRequest
from dray.wire.apis.sasl_authenticate import (
    SASL_AUTHENTICATE,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from dray.wire.apis.sasl_handshake import SaslHandshakeRequest
from tests.api.authorization.users import ADMIN, IMPOSTOR, NAMES, REFUSED, STRANGER
from tests.oracle.kafka import serve
from tests.oracle.raw import ClosedByPeer, RawConnection
from tests.oracle.request_client import frame_of
from tests.sasl.clients import plain_message

PASSWORD: Final = "secret"
_ANSWER_S: Final = 60.0
_PAUSE_S: Final = 0.05
_AUTHENTICATE_VERSION: Final = 2


class KafkaBackend:
    """A broker at a socket; each user has a connection."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._connections: dict[str, tuple[RawConnection, ExitStack]] = {}

    async def exchange(self, user: str, frame: bytes) -> bytes | None:
        try:
            received = self._connection(user).exchange(frame)
        except ClosedByPeer:
            self.hang_up(user)
            return None
        if user in REFUSED:
            self.hang_up(user)
        return received

    async def send_silently(self, user: str, frame: bytes) -> bool:
        probe = ApiVersionsRequest(client_software_name="x", client_software_version="1")
        try:
            connection = self._connection(user)
            connection.send(frame)
            connection.exchange(frame_of(probe, 3))
        except ClosedByPeer:
            self.hang_up(user)
            return False
        return True

    async def pause(self) -> None:
        await asyncio.sleep(_PAUSE_S)

    def hang_up(self, user: str) -> None:
        if user in self._connections:
            self._connections.pop(user)[1].close()

    def close(self) -> None:
        for user in list(self._connections):
            self.hang_up(user)

    def _connection(self, user: str) -> RawConnection:
        if user not in self._connections:
            opened = ExitStack()
            connection = opened.enter_context(RawConnection.open(self._address, _ANSWER_S))
            self._connections[user] = connection, opened
            if user != STRANGER:
                _log_in(connection, user)
        return self._connections[user][0]


def _log_in(connection: RawConnection, user: str) -> None:
    connection.exchange(frame_of(SaslHandshakeRequest(mechanism="PLAIN"), 1))
    name, password = (ADMIN, "wrong") if user == IMPOSTOR else (user, PASSWORD)
    request = SaslAuthenticateRequest(auth_bytes=plain_message(name, password))
    frame = connection.exchange(frame_of(request, _AUTHENTICATE_VERSION))
    _, response = decode_response(SASL_AUTHENTICATE, _AUTHENTICATE_VERSION, frame)
    assert isinstance(response, SaslAuthenticateResponse)
    assert bool(response.error_code) == (user == IMPOSTOR), response


@contextmanager
def kafka_backend(directory: Path) -> Iterator[KafkaBackend]:
    """Run a broker with the users of the matrix."""
    with serve(directory, _settings()) as broker:
        backend = KafkaBackend(broker.address)
        try:
            yield backend
        finally:
            backend.close()


def _settings() -> dict[str, str]:
    users = " ".join(f'user_{name}="{PASSWORD}"' for name in NAMES if name not in REFUSED)
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{ADMIN};User:ANONYMOUS",
        "sasl.enabled.mechanisms": "PLAIN",
        # The listener that `serve` configures keeps its name.
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listener.name.plaintext.plain.sasl.jaas.config": f"{plain} required {users};",
        "num.partitions": "1",
        "default.replication.factor": "1",
    }
