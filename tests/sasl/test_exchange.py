"""Rules that all exchanges share."""

import pytest

from dray.sasl import (
    MESSAGE_BYTES_MAX,
    USER_BYTES_MAX,
    Accepted,
    Challenge,
    Claims,
    ExchangeMisused,
    InvalidToken,
    NeedClaims,
    NeedCredentials,
    NeedVerification,
    Rejected,
)
from tests.sasl.clients import ScramClient, bearer_message, plain_message
from tests.sasl.hosts import MECHANISMS, SHA_256, Host, users

each_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS)

HOST = Host(users(alice="secret"), validate=lambda _: Claims("alice", 5))


def first_message(mechanism: str, user: str = "alice") -> bytes:
    if mechanism == "PLAIN":
        return plain_message(user, "secret")
    if mechanism == "OAUTHBEARER":
        return bearer_message("a.b.c")
    return ScramClient(mechanism, user, "secret").first()


@each_mechanism
@pytest.mark.parametrize(
    "message", [b"", b"\0", b"\x01", b"\xff" * 9, b"n,,", b"p=tls-unique,,n=alice,r=abc", b"\0" * 9]
)
def test_malformed_first_message_is_rejected(mechanism: str, message: bytes) -> None:
    [end] = HOST.play(mechanism, message)
    assert isinstance(end, Rejected)
    assert end.reason
    assert end.message


@each_mechanism
def test_giant_message_is_rejected_unread(mechanism: str) -> None:
    [end] = HOST.play(mechanism, first_message(mechanism).ljust(MESSAGE_BYTES_MAX + 1, b"a"))
    assert isinstance(end, Rejected)
    assert f"at most {MESSAGE_BYTES_MAX}" in end.reason


@pytest.mark.parametrize("mechanism", MECHANISMS[:3])
def test_user_name_that_is_too_long_is_rejected_without_a_lookup(mechanism: str) -> None:
    host = Host(users(alice="secret"))
    [end] = host.play(mechanism, first_message(mechanism, "é" * (USER_BYTES_MAX // 2 + 1)))
    assert isinstance(end, Rejected)
    assert host.asked == []
    host.play(mechanism, first_message(mechanism, "é" * (USER_BYTES_MAX // 2)))
    assert isinstance(host.asked[0], NeedCredentials)


@each_mechanism
def test_message_after_the_end_is_misuse(mechanism: str) -> None:
    exchange = HOST.open(mechanism)
    assert isinstance(HOST.send(exchange, b"nonsense"), Rejected)
    with pytest.raises(ExchangeMisused, match="expects nothing more"):
        exchange.receive(first_message(mechanism))


def test_exchange_authenticates_once() -> None:
    exchange = HOST.open("PLAIN")
    assert isinstance(HOST.send(exchange, first_message("PLAIN")), Accepted)
    with pytest.raises(ExchangeMisused, match="expects nothing more"):
        exchange.receive(first_message("PLAIN"))
    with pytest.raises(ExchangeMisused, match="expects nothing more"):
        exchange.resume(answer=True)


@each_mechanism
def test_message_before_the_answer_is_misuse(mechanism: str) -> None:
    exchange = HOST.open(mechanism)
    assert isinstance(exchange.receive(first_message(mechanism)), NeedCredentials | NeedClaims)
    with pytest.raises(ExchangeMisused, match="expects the answer of the host"):
        exchange.receive(first_message(mechanism))


@each_mechanism
def test_answer_before_the_question_is_misuse(mechanism: str) -> None:
    with pytest.raises(ExchangeMisused, match="expects the client's first message"):
        HOST.open(mechanism).resume({})


def test_answer_before_the_next_message_is_misuse() -> None:
    exchange = HOST.open("SCRAM-SHA-256")
    assert isinstance(HOST.send(exchange, first_message("SCRAM-SHA-256")), Challenge)
    with pytest.raises(ExchangeMisused, match="expects the client's next message"):
        exchange.resume(answer=True)


@each_mechanism
def test_answer_of_the_wrong_type_is_misuse_and_ends_the_exchange(mechanism: str) -> None:
    exchange = HOST.open(mechanism)
    exchange.receive(first_message(mechanism))
    with pytest.raises(ExchangeMisused, match="expected an answer of type"):
        exchange.resume(answer=True)
    with pytest.raises(ExchangeMisused, match="expects nothing more"):
        exchange.resume({})


def test_verification_must_be_answered_with_a_boolean() -> None:
    exchange = HOST.open("PLAIN")
    exchange.receive(first_message("PLAIN"))
    assert isinstance(exchange.resume(HOST.users["alice"]), NeedVerification)
    with pytest.raises(ExchangeMisused, match="expected an answer of type bool"):
        exchange.resume(HOST.users["alice"])


@each_mechanism
def test_rejection_names_mechanism_and_occasion(mechanism: str) -> None:
    message = b"n,,n=alice" if mechanism != "PLAIN" else b"a\0b\0c".ljust(MESSAGE_BYTES_MAX + 1)
    for again, occasion in ((False, "authentication"), (True, "re-authentication")):
        end = HOST.send(HOST.open(mechanism, reauthentication=again), message)
        assert isinstance(end, Rejected)
        assert end.message == (
            f"Authentication failed during {occasion} due to invalid credentials "
            f"with SASL mechanism {mechanism}"
        )


def test_secrets_are_not_in_the_text_of_values() -> None:
    credential = HOST.users["alice"][SHA_256]
    assert repr(credential) == "ScramCredential(iterations=4096)"
    assert "a.b.c" not in repr(NeedClaims("a.b.c"))
    assert "secret" not in repr(HOST.unknown)
    rejected = HOST.play("PLAIN", plain_message("alice", "hunter2"))
    assert "hunter2" not in repr(rejected)
    assert "hunter2" not in repr(HOST.play("OAUTHBEARER", bearer_message("hunter2"))[:-1])
    assert "none" not in repr(InvalidToken("expired"))
