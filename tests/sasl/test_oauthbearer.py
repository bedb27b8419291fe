"""OAUTHBEARER: the form of the message, the error challenge, and sessions that end with the token."""

import pytest

from dray.sasl import Accepted, Authenticated, Challenge, Claims, InvalidToken, NeedClaims, Rejected
from dray.sasl.tokens import validate
from tests.sasl.clients import bearer_message
from tests.sasl.hosts import Host
from tests.sasl.signing import NOW_MS, NOW_S, RULES, claims, signed, signing_keys

ERROR = b'{"status":"invalid_token"}'
UNINFORMATIVE = (
    "Authentication failed during authentication due to invalid credentials with SASL mechanism OAUTHBEARER"
)


def validate_here(token: str) -> Claims | InvalidToken:
    return validate(token, NOW_MS, signing_keys(), RULES)


HOST = Host(validate=validate_here)


def test_token_is_accepted_until_it_expires() -> None:
    [end] = HOST.play("OAUTHBEARER", bearer_message(signed()))
    assert end == Accepted(b"", Authenticated("alice", "OAUTHBEARER", (NOW_S + 600) * 1000))


@pytest.mark.parametrize("answer", [b"\x01", b"", b"\x01\x01", b"other"])
def test_invalid_token_is_answered_with_json_and_then_rejected(answer: bytes) -> None:
    seen = HOST.play("OAUTHBEARER", bearer_message(signed(claims(exp=NOW_S - 100))), answer)
    assert seen[0] == Challenge(ERROR)
    end = seen[1]
    assert isinstance(end, Rejected)
    assert end.message == ERROR.decode()
    assert "expired" in end.reason
    assert ("did not acknowledge" in end.reason) is (answer != b"\x01")


def test_valid_token_after_an_invalid_one_is_rejected() -> None:
    seen = HOST.play("OAUTHBEARER", bearer_message("a.b.c"), bearer_message(signed()))
    assert isinstance(seen[-1], Rejected)


@pytest.mark.parametrize("authorization_id", ["alice", "al=2Cice"])
def test_authorization_id_may_repeat_the_principal(authorization_id: str) -> None:
    name = authorization_id.replace("=2C", ",")
    [end] = HOST.play("OAUTHBEARER", bearer_message(signed(claims(sub=name)), authorization_id=name))
    assert isinstance(end, Accepted)
    assert end.authenticated.principal_name == name


def test_other_authorization_id_is_rejected() -> None:
    [end] = HOST.play("OAUTHBEARER", bearer_message(signed(), authorization_id="bob"))
    assert isinstance(end, Rejected)
    assert end.message == (
        "Authentication failed: Client requested an authorization id (bob) that is different from the "
        "token's principal name (alice)"
    )


@pytest.mark.parametrize(
    "message",
    [
        b"n,,\x01auth=Bearer a.b.c\x01\x01",
        b"n,,\x01auth=bearer a.b.c\x01\x01",
        b"n,,\x01auth=BEARER   a.b.c\x01\x01",
        b"n,,\x01host=broker\x01port=9092\x01auth=Bearer a.b.c\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\x01traceId=1 2\t3\r\n4\x01\x01",
        b"n,a=al=2Cice=3D,\x01auth=Bearer a.b.c\x01\x01",
    ],
)
def test_token_is_found_in_the_message(message: bytes) -> None:
    assert HOST.open("OAUTHBEARER").receive(message) == NeedClaims("a.b.c")


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"n,,\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\x01",
        b"n,,auth=Bearer a.b.c\x01\x01",
        b"n,\x01auth=Bearer a.b.c\x01\x01",
        b"y,,\x01auth=Bearer a.b.c\x01\x01",
        b"p=tls-unique,,\x01auth=Bearer a.b.c\x01\x01",
        b"n,a=,\x01auth=Bearer a.b.c\x01\x01",
        b"n,,\x01auth=Basic a.b.c\x01\x01",
        b"n,,\x01auth=Bearer\x01\x01",
        b"n,,\x01auth=Bearer \x01\x01",
        b"n,,\x01auth=Bearera.b.c\x01\x01",
        b"n,,\x01auth=Bearer a.b.c d\x01\x01",
        b"n,,\x01auth=Bearer a.b,c\x01\x01",
        b"n,,\x01auth=\x01\x01",
        b"n,,\x01host=broker\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\x01auth=Bearer d.e.f\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\x01trace-id=1\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\x01key=\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\x01\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\xff\x01\x01",
        b"n,,\x01auth=Bearer \xc3\xa4.b.c\x01\x01",
    ],
)
def test_malformed_message_is_rejected_without_validating(message: bytes) -> None:
    host = Host(validate=validate_here)
    [end] = host.play("OAUTHBEARER", message)
    assert isinstance(end, Rejected)
    assert end.message == UNINFORMATIVE
    assert host.asked == []


def test_principal_with_a_name_that_no_user_can_have_is_rejected() -> None:
    [end] = HOST.play("OAUTHBEARER", bearer_message(signed(claims(sub="a" * 1025))))
    assert isinstance(end, Rejected)
    assert "1025 bytes" in end.reason
