"""The SASL gate: nothing passes before authentication, whatever the order of requests."""

from collections.abc import Awaitable, Callable

import pytest

from dray.api.exchange import CloseConnection
from dray.sasl import Claims, InvalidToken
from dray.testing.virtual_loop import run
from dray.wire import ErrorCode, decode_response
from dray.wire.apis.api_versions import API_VERSIONS, ApiVersionsRequest
from dray.wire.apis.metadata import METADATA, MetadataRequest
from dray.wire.apis.sasl_authenticate import (
    SASL_AUTHENTICATE,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from dray.wire.apis.sasl_handshake import SASL_HANDSHAKE, SaslHandshakeRequest
from tests.net.gates import PASSWORD, Gate
from tests.sasl.clients import ScramClient, bearer_message, plain_message

METADATA_OF_NONE = MetadataRequest(topics=[])
ALICE = plain_message("alice", PASSWORD)


def gated(test: Callable[[Gate], Awaitable[None]], *, max_reauth_ms: int = 0) -> None:
    async def main() -> None:
        await test(Gate(max_reauth_ms=max_reauth_ms))

    run(main())


async def logged_in(gate: Gate, message: bytes = ALICE) -> SaslAuthenticateResponse:
    await gate.handshake("PLAIN")
    return await gate.token(message)


def test_a_request_before_authentication_closes_the_connection() -> None:
    async def test(gate: Gate) -> None:
        with pytest.raises(CloseConnection, match="before authentication"):
            await gate.send(METADATA, METADATA_OF_NONE, 12)
        assert gate.recorder.passed == []

    gated(test)


def test_api_versions_passes_once_before_authentication() -> None:
    async def test(gate: Gate) -> None:
        await gate.send(API_VERSIONS, ApiVersionsRequest(), 4)
        with pytest.raises(CloseConnection, match="before authentication"):
            await gate.send(API_VERSIONS, ApiVersionsRequest(), 4)
        assert gate.recorder.passed == [(API_VERSIONS.key, "User:ANONYMOUS")]

    gated(test)


def test_only_requests_before_authentication_count_towards_no_quota() -> None:
    async def test(gate: Gate) -> None:
        await gate.send(API_VERSIONS, ApiVersionsRequest(), 4)
        await logged_in(gate)
        await gate.send(API_VERSIONS, ApiVersionsRequest(), 4)
        assert len(gate.recorder.passed) == 2
        assert gate.recorder.quota_free == [API_VERSIONS.key]

    gated(test)


def test_plain_authenticates_as_its_user() -> None:
    async def test(gate: Gate) -> None:
        handshake = await gate.handshake("PLAIN")
        assert handshake.error_code == ErrorCode.NONE
        assert "SCRAM-SHA-512" in handshake.mechanisms
        answer = await gate.token(ALICE)
        assert (answer.error_code, answer.error_message, answer.session_lifetime_ms) == (0, None, 0)
        await gate.send(METADATA, METADATA_OF_NONE, 12)
        assert gate.recorder.passed == [(METADATA.key, "User:alice")]
        assert gate.request_limits == [512 * 1024, None]

    gated(test)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_authenticates_in_two_rounds(mechanism: str) -> None:
    async def test(gate: Gate) -> None:
        client = ScramClient(mechanism, "alice", PASSWORD)
        await gate.handshake(mechanism)
        challenge = await gate.token(client.first())
        final = await gate.token(client.final(bytes(challenge.auth_bytes)))
        assert final.error_code == 0
        assert bytes(final.auth_bytes).startswith(b"v=")
        await gate.send(METADATA, METADATA_OF_NONE, 12)
        assert gate.recorder.passed == [(METADATA.key, "User:alice")]

    gated(test)


def test_tokens_after_handshake_version_0_are_bare() -> None:
    async def test(gate: Gate) -> None:
        client = ScramClient("SCRAM-SHA-256", "alice", PASSWORD)
        await gate.handshake("SCRAM-SHA-256", version=0)
        challenge = await gate.send_raw(client.first())
        assert challenge is not None
        assert await gate.send_raw(client.final(challenge)) is not None
        await gate.send(METADATA, METADATA_OF_NONE, 12)
        assert gate.recorder.passed == [(METADATA.key, "User:alice")]

    gated(test)


def test_a_wrong_password_is_answered_late_and_closes_the_connection() -> None:
    async def test(gate: Gate) -> None:
        await gate.handshake("PLAIN")
        began = gate.clock.monotonic()
        with pytest.raises(CloseConnection) as closed:
            await gate.token(plain_message("alice", "guessed"))
        assert gate.clock.monotonic() - began >= 0.1
        assert closed.value.response is not None
        frame = b"".join(bytes(part) for part in closed.value.response)[4:]
        answer = decode_response(SASL_AUTHENTICATE, 2, frame)[1]
        assert isinstance(answer, SaslAuthenticateResponse)
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert answer.error_message == "Authentication failed: Invalid username or password"
        assert gate.failures == [("PLAIN", "wrong password of user 'alice'")]
        assert PASSWORD not in str(gate.failures)
        assert gate.request_limits == [512 * 1024]

    gated(test)


def test_requests_sent_ahead_of_a_refusal_close_the_connection() -> None:
    async def test(gate: Gate) -> None:
        guess = SaslAuthenticateRequest(auth_bytes=plain_message("alice", "guessed"))
        await gate.handshake("PLAIN")
        await gate.begin(SASL_AUTHENTICATE, guess, 2)
        with pytest.raises(CloseConnection, match="followed a refused"):
            await gate.begin(SASL_AUTHENTICATE, guess, 2)
        assert len(gate.failures) == 1

    async def test_mechanism(gate: Gate) -> None:
        await gate.begin(SASL_HANDSHAKE, SaslHandshakeRequest(mechanism="GSSAPI"), 1)
        with pytest.raises(CloseConnection, match="followed a refused"):
            await gate.begin(SASL_HANDSHAKE, SaslHandshakeRequest(mechanism="PLAIN"), 1)

    gated(test)
    gated(test_mechanism)


def test_bare_tokens_have_no_answer_to_a_wrong_password() -> None:
    async def test(gate: Gate) -> None:
        await gate.handshake("PLAIN", version=0)
        with pytest.raises(CloseConnection) as closed:
            await gate.send_raw(plain_message("alice", "guessed"))
        assert closed.value.response is None

    gated(test)


def test_a_mechanism_that_is_not_enabled_is_answered_and_closes_the_connection() -> None:
    async def main() -> None:
        gate = Gate(mechanisms=("SCRAM-SHA-512",))
        with pytest.raises(CloseConnection) as closed:
            await gate.handshake("PLAIN")
        assert closed.value.response is not None
        frame = b"".join(bytes(part) for part in closed.value.response)[4:]
        answer = decode_response(SASL_HANDSHAKE, 1, frame)[1]
        assert answer == type(answer)(
            error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=["SCRAM-SHA-512"]
        )

    run(main())


def test_another_request_between_the_tokens_closes_the_connection() -> None:
    async def test(gate: Gate) -> None:
        client = ScramClient("SCRAM-SHA-256", "alice", PASSWORD)
        await gate.handshake("SCRAM-SHA-256")
        await gate.token(client.first())
        with pytest.raises(CloseConnection, match="during authentication"):
            await gate.send(METADATA, METADATA_OF_NONE, 12)
        assert gate.recorder.passed == []

    gated(test)


def test_an_undecodable_frame_closes_the_connection() -> None:
    async def test(gate: Gate) -> None:
        with pytest.raises(CloseConnection, match="could not be read"):
            await gate.send_raw(b"\x16\x03")  # the beginning of a TLS handshake

    gated(test)


def test_a_session_ends_unless_the_client_authenticates_again() -> None:
    async def test(gate: Gate) -> None:
        answer = await logged_in(gate)
        assert answer.session_lifetime_ms == 60_000
        await gate.clock.sleep(59)
        await logged_in(gate)
        await gate.clock.sleep(59)
        await gate.send(METADATA, METADATA_OF_NONE, 12)
        await gate.clock.sleep(2)
        with pytest.raises(CloseConnection, match="expired"):
            await gate.send(METADATA, METADATA_OF_NONE, 12)
        assert gate.request_limits == [512 * 1024, None]

    gated(test, max_reauth_ms=60_000)


@pytest.mark.parametrize("handshake_version", [0, 1])
def test_sessions_of_clients_that_do_not_learn_the_lifetime_end_too(handshake_version: int) -> None:
    async def test(gate: Gate) -> None:
        await gate.handshake("PLAIN", version=handshake_version)
        if handshake_version:
            await gate.token(ALICE, version=0)
        else:
            await gate.send_raw(ALICE)
        await gate.clock.sleep(59)
        await gate.send(METADATA, METADATA_OF_NONE, 12)
        await gate.clock.sleep(2)
        with pytest.raises(CloseConnection, match="expired"):
            await gate.send(METADATA, METADATA_OF_NONE, 12)
        assert len(gate.recorder.passed) == 1

    gated(test, max_reauth_ms=60_000)


def test_a_second_reauthentication_within_a_second_is_an_ordinary_request() -> None:
    async def test(gate: Gate) -> None:
        await logged_in(gate)
        await logged_in(gate)
        await gate.clock.sleep(0.9)
        await gate.send(SASL_HANDSHAKE, SaslHandshakeRequest(mechanism="PLAIN"), 1)
        assert gate.recorder.passed == [(SASL_HANDSHAKE.key, "User:alice")]
        await gate.clock.sleep(0.2)
        await logged_in(gate)
        assert len(gate.recorder.passed) == 1

    gated(test, max_reauth_ms=60_000)


def test_authentication_in_a_session_without_end_is_an_ordinary_request() -> None:
    async def test(gate: Gate) -> None:
        await logged_in(gate)
        await gate.clock.sleep(60)
        await gate.send(SASL_HANDSHAKE, SaslHandshakeRequest(mechanism="PLAIN"), 1)
        assert gate.recorder.passed == [(SASL_HANDSHAKE.key, "User:alice")]

    gated(test)


def test_a_client_must_authenticate_again_as_the_same_principal() -> None:
    async def test(gate: Gate) -> None:
        await logged_in(gate)
        await gate.clock.sleep(2)
        await gate.handshake("PLAIN")
        with pytest.raises(CloseConnection, match="same principal"):
            await gate.token(plain_message("bob", "bob's"))

    gated(test, max_reauth_ms=60_000)


def test_a_client_must_authenticate_again_with_the_same_mechanism() -> None:
    async def test(gate: Gate) -> None:
        await logged_in(gate)
        await gate.clock.sleep(2)
        with pytest.raises(CloseConnection, match="same SASL mechanism"):
            await gate.handshake("SCRAM-SHA-256")

    gated(test, max_reauth_ms=60_000)


def test_tokens_after_authentication_are_ordinary_requests() -> None:
    async def test(gate: Gate) -> None:
        await logged_in(gate)
        await gate.send(SASL_AUTHENTICATE, SaslAuthenticateRequest(auth_bytes=ALICE), 2)
        assert gate.recorder.passed == [(SASL_AUTHENTICATE.key, "User:alice")]

    gated(test)


def test_a_session_lasts_no_longer_than_its_token() -> None:
    async def main() -> None:
        async def verified(token: str, now_ms: int) -> Claims | InvalidToken:
            return Claims("alice", now_ms + 30_000) if token == "good" else InvalidToken("bad")

        gate = Gate(verify_token=verified, max_reauth_ms=60_000)
        await gate.handshake("OAUTHBEARER")
        answer = await gate.token(bearer_message("good"))
        assert answer.session_lifetime_ms == 30_000
        await gate.clock.sleep(31)
        with pytest.raises(CloseConnection, match="expired"):
            await gate.send(METADATA, METADATA_OF_NONE, 12)

    run(main())


def test_an_invalid_token_gets_the_challenge_of_the_mechanism_before_the_failure() -> None:
    async def main() -> None:
        async def verified(_: str, __: int) -> InvalidToken:
            return InvalidToken("expired")

        gate = Gate(verify_token=verified)
        await gate.handshake("OAUTHBEARER")
        challenge = await gate.token(bearer_message("bad"))
        assert (challenge.error_code, bytes(challenge.auth_bytes)) == (0, b'{"status":"invalid_token"}')
        with pytest.raises(CloseConnection, match="OAUTHBEARER failed"):
            await gate.token(b"\x01")
        assert gate.failures == [("OAUTHBEARER", "invalid token: expired")]

    run(main())
