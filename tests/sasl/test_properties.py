"""Properties of all exchanges, whatever is sent."""

import base64

from hypothesis import given
from hypothesis import strategies as st

from dray.sasl import Accepted, Challenge, Rejected
from tests.sasl.clients import ScramClient, bearer_message, escaped, plain_message
from tests.sasl.hosts import MECHANISMS, Host, no_tokens, users
from tests.sasl.signing import claims, signed

HOST = Host(users(alice="secret"), validate=no_tokens)

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
nonces = st.text(st.sampled_from("abcXYZ0189+/=!~-"), min_size=1)
scram_mechanisms = st.sampled_from(MECHANISMS[1:3])


@st.composite
def likely_messages(draw: st.DrawFn) -> bytes:
    """Return a message that has the form of one, with parts of any content."""
    name, value, nonce = draw(text), draw(text), draw(nonces)
    user = draw(st.sampled_from(["alice", name]))
    proof = base64.b64encode(draw(st.binary(max_size=64))).decode()
    form = draw(st.integers(0, 5))
    return [
        plain_message(user, value, draw(st.sampled_from(["", "alice", name]))),
        f"n,,n={escaped(user)},r={nonce}".encode(),
        f"c=biws,r={nonce}{HOST.server_nonce},p={proof}".encode(),
        bearer_message(draw(st.sampled_from(["a.b.c", signed(claims(sub="alice")), nonce]))),
        b"\x01",
        draw(st.binary(max_size=80)),
    ][form]


@given(st.sampled_from(MECHANISMS), st.lists(likely_messages(), min_size=1, max_size=5))
def test_no_messages_authenticate_without_the_password(mechanism: str, messages: list[bytes]) -> None:
    if any(b"\0alice\0secret" in message for message in messages):
        return
    for event in HOST.play(mechanism, *messages):
        assert isinstance(event, Challenge | Rejected)


@given(scram_mechanisms, text, text, st.one_of(st.just(""), st.just(",x=y"), st.just(",a=1,b=2=3")))
def test_the_right_password_is_always_accepted(
    mechanism: str, user: str, password: str, extensions: str
) -> None:
    client = ScramClient(mechanism, user, password, extensions=extensions)
    host = Host(users(**{user: password}))
    exchange = host.open(mechanism)
    challenge = host.send(exchange, client.first())
    assert isinstance(challenge, Challenge)
    end = host.send(exchange, client.final(challenge.message))
    assert isinstance(end, Accepted)
    assert end.message == client.server_final(challenge.message)
    assert end.authenticated.principal_name == user
    [plain] = host.play("PLAIN", plain_message(user, password))
    assert isinstance(plain, Accepted)
    assert plain.authenticated.principal_name == user


@given(scram_mechanisms, text, text, text)
def test_another_password_is_never_accepted(mechanism: str, user: str, password: str, other: str) -> None:
    if password == other:
        return
    client = ScramClient(mechanism, user, other)
    host = Host(users(**{user: password}))
    challenge = host.challenge(mechanism, client.first())
    assert isinstance(host.play(mechanism, client.first(), client.final(challenge))[-1], Rejected)
    assert isinstance(host.play("PLAIN", plain_message(user, other))[-1], Rejected)


@given(st.sampled_from(MECHANISMS), st.lists(st.binary(max_size=200), min_size=1, max_size=3))
def test_random_bytes_are_answered_with_an_event_for_the_client(
    mechanism: str, messages: list[bytes]
) -> None:
    for event in HOST.play(mechanism, *messages):
        assert isinstance(event, Challenge | Rejected)
        if isinstance(event, Rejected):
            assert event.reason
            assert event.message.isprintable()
