"""PLAIN: the form of the message, and who is accepted. The sentences are Kafka's."""

import pytest

from dray.sasl import Accepted, Authenticated, NeedCredentials, Rejected, ScramCredential, ScramMechanism
from tests.sasl.clients import plain_message
from tests.sasl.hosts import SHA_256, SHA_512, Host, credential, users

WRONG = "Authentication failed: Invalid username or password"
OTHER_ID = "Authentication failed: Client requested an authorization id that is different from username"
HOST = Host(users(alice="secret", bob="hunter2"))


def rejection(message: bytes, host: Host = HOST) -> str:
    [end] = host.play("PLAIN", message)
    assert isinstance(end, Rejected)
    return end.message


@pytest.mark.parametrize("authorization_id", ["", "alice"])
def test_password_is_accepted(authorization_id: str) -> None:
    [end] = HOST.play("PLAIN", plain_message("alice", "secret", authorization_id))
    assert end == Accepted(b"", Authenticated("alice", "PLAIN", None))


@pytest.mark.parametrize("mechanism", list(ScramMechanism))
def test_credential_of_either_mechanism_suffices(mechanism: ScramMechanism) -> None:
    host = Host({"alice": {mechanism: credential(mechanism, "secret")}})
    assert isinstance(host.play("PLAIN", plain_message("alice", "secret"))[0], Accepted)
    assert rejection(plain_message("alice", "wrong"), host) == WRONG


def test_either_password_is_accepted_where_they_differ() -> None:
    host = Host({"alice": {SHA_256: credential(SHA_256, "one"), SHA_512: credential(SHA_512, "two")}})
    for password in ("one", "two"):
        assert isinstance(host.play("PLAIN", plain_message("alice", password))[0], Accepted)
    assert rejection(plain_message("alice", "three"), host) == WRONG


@pytest.mark.parametrize("name", ["zoë", "a,b=c", "with space", "a@EXAMPLE.COM", "日本"])
def test_name_and_password_are_any_utf8(name: str) -> None:
    [end] = Host(users(**{name: f"pässword of {name}"})).play(
        "PLAIN", plain_message(name, f"pässword of {name}")
    )
    assert isinstance(end, Accepted)
    assert end.authenticated.principal_name == name


@pytest.mark.parametrize(
    ("user", "password"),
    [
        ("alice", "secret "),
        ("alice", "Secret"),
        ("alice", "hunter2"),
        ("Alice", "secret"),
        ("carol", "secret"),
    ],
)
def test_wrong_password_and_unknown_user_are_rejected_alike(user: str, password: str) -> None:
    assert rejection(plain_message(user, password)) == WRONG


def test_password_is_not_normalized() -> None:
    composed, decomposed = "\u00e9", "e\u0301"
    host = Host(users(alice=composed))
    assert isinstance(host.play("PLAIN", plain_message("alice", composed))[0], Accepted)
    assert rejection(plain_message("alice", decomposed), host) == WRONG


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"alice\0secret", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0alice\0secret\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0alice\0sec\0ret\0more", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"alice\0\0", "Authentication failed: username not specified"),
        (b"\0alice\0secret\xff", WRONG),
    ],
)
def test_malformed_message_is_rejected_without_a_lookup(message: bytes, sentence: str) -> None:
    host = Host(users(alice="secret"))
    assert rejection(message, host) == sentence
    assert host.asked == []


def test_other_authorization_id_is_rejected() -> None:
    assert rejection(plain_message("alice", "secret", "bob")) == OTHER_ID


def test_other_authorization_id_is_not_mentioned_before_the_password_is_right() -> None:
    assert rejection(plain_message("alice", "wrong", "bob")) == WRONG
    assert rejection(plain_message("carol", "secret", "bob")) == WRONG


def test_both_credentials_are_asked_for() -> None:
    host = Host(users(alice="secret"))
    host.play("PLAIN", plain_message("alice", "secret"))
    assert host.asked[0] == NeedCredentials("alice", (SHA_256, SHA_512))


@pytest.mark.parametrize("iterations", [1, 4095, 16385])
def test_stored_credential_outside_the_limits_is_not_used(iterations: int) -> None:
    good = credential(SHA_256, "secret")
    bad = ScramCredential(good.salt, good.stored_key, good.server_key, iterations)
    [end] = Host({"alice": {SHA_256: bad}}).play("PLAIN", plain_message("alice", "secret"))
    assert isinstance(end, Rejected)
    assert "iterations" in end.reason
    assert "iterations" not in end.message
