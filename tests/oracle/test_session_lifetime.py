"""Sessions end and are prolonged on Dray as on Apache Kafka (KIP-368).

SaslAuthenticate returns the lifetime from version 1 on. With version 0, and with bare tokens after
SaslHandshake version 0, a client cannot know it; its connection is closed all the same.
"""

import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
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
from dray.wire.apis.sasl_handshake import SASL_HANDSHAKE, SaslHandshakeRequest, SaslHandshakeResponse
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
ILLEGAL_SASL_STATE: Final = 34
REAUTHENTICATION_S_MIN: Final = 1.0
ATTEMPTS: Final = 20
BARE_TOKENS: Final = None
"""In place of a version of SaslAuthenticate."""
TOKEN: Final = plain_message(USER, PASSWORD)
REQUEST: Final = frame_of(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3)


Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Addresses:
    """Of a listener whose sessions end after `LIFETIME_S`, and of one whose sessions do not end."""

    ending: Address
    endless: Address


@contextmanager
def dray(lifetime_s: float) -> Iterator[Address]:
    settings = {
        "broker.listen": "ADMIN://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
        "broker.listener_protocols": "ADMIN:PLAINTEXT",
        "sasl.enabled_mechanisms": "PLAIN",
        "sasl.connections_max_reauth_ms": str(int(lifetime_s * 1000)),
    }
    with broker(settings) as running:
        admin = AdminClient({"bootstrap.servers": running.listeners["ADMIN"]})
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        added = UserScramCredentialUpsertion(USER, credential, PASSWORD.encode())
        admin.alter_user_scram_credentials([added])[USER].result(30)
        yield address_of(running.listeners["SASL_PLAINTEXT"])


@contextmanager
def apache_kafka(folder: Path) -> Iterator[Addresses]:
    """Run a broker; the listener that `serve` configures keeps its name, and has the lifetime."""
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule"
    login = f'{plain} required user_{USER}="{PASSWORD}";'
    settings = {
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "security.inter.broker.protocol": "SASL_PLAINTEXT",
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,"
        "CONTROLLER:PLAINTEXT",
        "listener.name.plaintext.plain.sasl.jaas.config": login,
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": login,
        "listener.name.plaintext.plain.connections.max.reauth.ms": str(int(LIFETIME_S * 1000)),
    }
    with kafka.serve(folder, settings, ["SASL_PLAINTEXT"]) as running:
        yield Addresses(running.address, address_of(running.listeners["SASL_PLAINTEXT"]))


def address_of(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return host, int(port)


@pytest.fixture(scope="module", params=["dray", "kafka"])
def addresses(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Addresses]:
    if request.param == "dray":
        with dray(LIFETIME_S) as ending, dray(0) as endless:
            yield Addresses(ending, endless)
        return
    with apache_kafka(tmp_path_factory.mktemp("sessions") / "kafka") as found:
        yield found


def handshake(connection: RawConnection, version: int = 1) -> int:
    """Begin an authentication, and return the error code."""
    answer = connection.exchange(frame_of(SaslHandshakeRequest(mechanism="PLAIN"), version))
    _, response = decode_response(SASL_HANDSHAKE, version, answer)
    assert isinstance(response, SaslHandshakeResponse)
    return response.error_code


def authenticate(connection: RawConnection, version: int = 2) -> SaslAuthenticateResponse:
    answer = connection.exchange(frame_of(SaslAuthenticateRequest(auth_bytes=TOKEN), version))
    _, response = decode_response(SASL_AUTHENTICATE, version, answer)
    assert isinstance(response, SaslAuthenticateResponse)
    return response


class Session:
    """A connection of an authenticated client that never authenticates again."""

    def __init__(self, connection: RawConnection, version: int | None) -> None:
        self._connection = connection
        assert handshake(connection, 0 if version is BARE_TOKENS else 1) == 0
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
        response = authenticate(self._connection, version)
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


def test_sessions_end_whether_or_not_the_client_knows_their_lifetime(addresses: Addresses) -> None:
    with ExitStack() as opened:
        sessions = [
            Session(opened.enter_context(RawConnection.open(addresses.ending, ENDS_WITHIN_S)), version)
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


def test_clients_authenticate_again_at_most_once_a_second(addresses: Addresses) -> None:
    """The first time at once. An attempt counts only if this process was not paused for a second."""
    for _ in range(ATTEMPTS):
        with RawConnection.open(addresses.ending, ENDS_WITHIN_S) as connection:
            assert handshake(connection) == 0
            assert authenticate(connection).error_code == 0
            began = time.monotonic()
            assert handshake(connection) == 0
            assert authenticate(connection).session_lifetime_ms == LIFETIME_S * 1000
            third = handshake(connection)
            if time.monotonic() - began < REAUTHENTICATION_S_MIN:
                assert third == ILLEGAL_SASL_STATE
                return
    pytest.fail(f"in {ATTEMPTS} attempts three logins never took less than {REAUTHENTICATION_S_MIN} s")


def test_clients_do_not_authenticate_again_in_sessions_without_end(addresses: Addresses) -> None:
    with RawConnection.open(addresses.endless, ENDS_WITHIN_S) as connection:
        assert handshake(connection) == 0
        assert authenticate(connection).session_lifetime_ms == 0
        assert handshake(connection) == ILLEGAL_SASL_STATE
        assert authenticate(connection).error_code == ILLEGAL_SASL_STATE
        connection.exchange(REQUEST)
