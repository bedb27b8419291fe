"""Sessions end on Dray as on Apache Kafka, also those of clients that do not learn their lifetime (KIP-368).

SaslAuthenticate returns the lifetime from version 1 on. With version 0, and with bare tokens after
SaslHandshake version 0, a client cannot know it; its connection is closed all the same.
"""

import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from dray.testing import broker
from dray.wire import decode_response
from dray.wire.apis.api_versions import ApiVersionsRequest
from dray.wire.apis.sasl_authenticate import (
    SASL_AUTHENTICATE,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from dray.wire.apis.sasl_handshake import SaslHandshakeRequest
from tests.oracle import kafka
from tests.oracle.raw import ClosedByPeer, RawConnection
from tests.oracle.request_client import frame_of
from tests.sasl.clients import plain_message

pytestmark = [pytest.mark.slow, pytest.mark.real("java")]

LIFETIME_S: Final = 3.0
ENDS_WITHIN_S: Final = 30.0
PAUSE_S: Final = 0.05
USER: Final = "alice"
PASSWORD: Final = "secret"
BARE_TOKENS: Final = None
"""In place of a version of SaslAuthenticate."""
TOKEN: Final = plain_message(USER, PASSWORD)
REQUEST: Final = frame_of(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3)


@contextmanager
def dray() -> Iterator[tuple[str, int]]:
    settings = {
        "broker.listen": "ADMIN://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
        "broker.listener_protocols": "ADMIN:PLAINTEXT",
        "sasl.enabled_mechanisms": "PLAIN",
        "sasl.connections_max_reauth_ms": str(int(LIFETIME_S * 1000)),
    }
    with broker(settings) as running:
        admin = AdminClient({"bootstrap.servers": running.listeners["ADMIN"]})
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        added = UserScramCredentialUpsertion(USER, credential, PASSWORD.encode())
        admin.alter_user_scram_credentials([added])[USER].result(30)
        host, _, port = running.listeners["SASL_PLAINTEXT"].rpartition(":")
        yield host, int(port)


@contextmanager
def apache_kafka(folder: Path) -> Iterator[tuple[str, int]]:
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule"
    settings = {
        "sasl.enabled.mechanisms": "PLAIN",
        # The listener that `serve` configures keeps its name.
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listener.name.plaintext.plain.sasl.jaas.config": f'{plain} required user_{USER}="{PASSWORD}";',
        "connections.max.reauth.ms": str(int(LIFETIME_S * 1000)),
    }
    with kafka.serve(folder, settings) as running:
        yield running.address


@pytest.fixture(params=["dray", "kafka"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, int]]:
    with dray() if request.param == "dray" else apache_kafka(tmp_path / "kafka") as found:
        yield found


class Session:
    """A connection of an authenticated client that never authenticates again."""

    def __init__(self, connection: RawConnection, version: int | None) -> None:
        self._connection = connection
        connection.exchange(frame_of(SaslHandshakeRequest(mechanism="PLAIN"), 0 if version is None else 1))
        self.began = time.monotonic()
        self.lifetime_ms = self._log_in(version)
        self.ends_before = time.monotonic() + LIFETIME_S
        self.answered = 0
        self.ended: float | None = None

    def _log_in(self, version: int | None) -> int:
        """Return the lifetime that the response says, if it can."""
        if version is BARE_TOKENS:
            assert self._connection.exchange(TOKEN) == b""
            return 0
        answer = self._connection.exchange(frame_of(SaslAuthenticateRequest(auth_bytes=TOKEN), version))
        _, response = decode_response(SASL_AUTHENTICATE, version, answer)
        assert isinstance(response, SaslAuthenticateResponse)
        assert response.error_code == 0, response
        return response.session_lifetime_ms

    def use(self) -> None:
        """Send a request, unless the session has ended."""
        if self.ended is not None:
            return
        sent = time.monotonic()
        try:
            _, code = struct.unpack_from(">ih", self._connection.exchange(REQUEST))
        except ClosedByPeer:
            self.ended = time.monotonic()
            return
        assert code == 0
        assert sent < self.ends_before, "a request was answered after the session had ended"
        self.answered += 1


def test_sessions_end_whether_or_not_the_client_knows_their_lifetime(address: tuple[str, int]) -> None:
    with ExitStack() as opened:
        sessions = [
            Session(opened.enter_context(RawConnection.open(address, ENDS_WITHIN_S)), version)
            for version in (BARE_TOKENS, 0, 1, 2)
        ]
        deadline = time.monotonic() + ENDS_WITHIN_S
        while any(session.ended is None for session in sessions) and time.monotonic() < deadline:
            for session in sessions:
                session.use()
            threading.Event().wait(PAUSE_S)
    assert [session.lifetime_ms for session in sessions] == [0, 0, LIFETIME_S * 1000, LIFETIME_S * 1000]
    for session in sessions:
        assert session.answered > 0
        assert session.ended is not None
        assert session.ended - session.began >= LIFETIME_S
