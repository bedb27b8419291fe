"""SCRAM: messages, checks, and what is refused."""

import base64

import pytest

from dray.sasl import (
    Accepted,
    Authenticated,
    Challenge,
    NeedCredentials,
    Rejected,
    ScramCredential,
    ScramMechanism,
    UnknownUsers,
    scram_exchange,
)
from tests.sasl.clients import ScramClient
from tests.sasl.hosts import SERVER_NONCE, UNKNOWN, Host, Visible, credential, users

each_mechanism = pytest.mark.parametrize("mechanism", [found.value for found in ScramMechanism])

UNINFORMATIVE = "Authentication failed during authentication due to invalid credentials with SASL mechanism "
OTHER_ID = "Authentication failed: Client requested an authorization id that is different from username"
HOST = Host(users(alice="secret", bob="hunter2"))


def authenticate(client: ScramClient, host: Host = HOST) -> Visible:
    """Run a whole exchange, and return what the client sees last."""
    exchange = host.open(client.mechanism)
    challenge = host.send(exchange, client.first())
    if not isinstance(challenge, Challenge):
        return challenge
    return host.send(exchange, client.final(challenge.message))


def final_instead(mechanism: str, final: bytes) -> Visible:
    """Send a correct first message, then this one."""
    return HOST.play(mechanism, ScramClient(mechanism, "alice", "secret").first(), final)[-1]


@each_mechanism
def test_both_sides_are_authenticated(mechanism: str) -> None:
    client = ScramClient(mechanism, "alice", "secret")
    exchange = HOST.open(mechanism)
    challenge = HOST.send(exchange, client.first())
    assert isinstance(challenge, Challenge)
    assert HOST.send(exchange, client.final(challenge.message)) == Accepted(
        client.server_final(challenge.message), Authenticated("alice", mechanism, None)
    )


@each_mechanism
@pytest.mark.parametrize(
    ("user", "password"),
    [("alice", "Secret"), ("alice", "hunter2"), ("carol", "secret"), ("Alice", "secret")],
)
def test_wrong_password_and_unknown_user_are_rejected_alike(mechanism: str, user: str, password: str) -> None:
    end = authenticate(ScramClient(mechanism, user, password))
    assert isinstance(end, Rejected)
    assert end.message == UNINFORMATIVE + mechanism


@each_mechanism
@pytest.mark.parametrize("name", ["a,b", "a=b", "=2C", "=3D,", "a=2Cb", ",=,=", "zoë", "with space", "a\nb"])
def test_escaped_and_unusual_names(mechanism: str, name: str) -> None:
    end = authenticate(ScramClient(mechanism, name, "secret"), Host(users(**{name: "secret"})))
    assert isinstance(end, Accepted)
    assert end.authenticated.principal_name == name


@each_mechanism
def test_credential_of_the_other_mechanism_is_not_used(mechanism: str) -> None:
    other = next(found for found in ScramMechanism if found.value != mechanism)
    host = Host({"alice": {other: credential(other, "secret")}})
    assert isinstance(authenticate(ScramClient(mechanism, "alice", "secret"), host), Rejected)
    assert host.asked == [NeedCredentials("alice", (ScramMechanism(mechanism),))]


@each_mechanism
def test_authorization_id_may_repeat_the_user(mechanism: str) -> None:
    host = Host(users(**{"a,b": "secret"}))
    assert isinstance(
        authenticate(ScramClient(mechanism, "a,b", "secret", header="n,a=a=2Cb,"), host), Accepted
    )


@each_mechanism
@pytest.mark.parametrize("user", ["alice", "carol"])
def test_other_authorization_id_is_rejected_without_a_lookup(mechanism: str, user: str) -> None:
    host = Host(users(alice="secret"))
    end = authenticate(ScramClient(mechanism, user, "secret", header="n,a=bob,"), host)
    assert isinstance(end, Rejected)
    assert end.message == OTHER_ID
    assert host.asked == []


@each_mechanism
@pytest.mark.parametrize("value", ["true", "True", "TRUE"])
def test_delegation_token_is_rejected_clearly(mechanism: str, value: str) -> None:
    end = authenticate(ScramClient(mechanism, "alice", "secret", extensions=f",tokenauth={value}"))
    assert isinstance(end, Rejected)
    assert end.message == "Authentication failed: delegation tokens (tokenauth=true) are not supported"


@each_mechanism
@pytest.mark.parametrize("extensions", [",tokenauth=false", ",ext=value", ",a=b==,c=d e"])
def test_other_extensions_are_ignored_but_signed(mechanism: str, extensions: str) -> None:
    assert isinstance(
        authenticate(ScramClient(mechanism, "alice", "secret", extensions=extensions)), Accepted
    )


@each_mechanism
@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n",
        b"n,,",
        b"n,,n=alice",
        b"n,,r=abc,n=alice",
        b"n,,n=alice,r=",
        b"n,,n=,r=abc",
        b"n,,n=a=b,r=abc",
        b"n,,n=a=2c,r=abc",
        b"n,,n=al\0ice,r=abc",
        b"n,,n=alice,r=a\x7fbc",
        b"n,,n=alice,r=a bc",
        b"n,,n=alice,r=abc,",
        b"n,,n=alice,r=abc,x",
        b"n,,n=alice,r=abc,1=x",
        b"n,,n=alice,r=abc\n",
        b" n,,n=alice,r=abc",
        b"N,,n=alice,r=abc",
        b"n,x=y,n=alice,r=abc",
        b"n,a=,n=alice,r=abc",
        b"n,,m=mandatory,n=alice,r=abc",
        b"y,,n=alice,r=abc",
        b"p=tls-unique,,n=alice,r=abc",
        b"p=tls-exporter,a=alice,n=alice,r=abc",
        b"n,,n=al\xc3\x28ice,r=abc",
        b"n,,n=\xed\xa0\x80,r=abc",
    ],
)
def test_malformed_first_message_is_rejected_without_a_lookup(mechanism: str, first: bytes) -> None:
    host = Host(users(alice="secret"))
    [end] = host.play(mechanism, first)
    assert isinstance(end, Rejected)
    assert end.message == UNINFORMATIVE + mechanism
    assert host.asked == []


@each_mechanism
@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"",
        lambda final: final[:-1],
        lambda final: final + b"=",
        lambda final: final + b",",
        lambda final: final + b"\0",
        lambda final: final.replace(b"c=biws,", b""),
        lambda final: final.replace(b"c=biws,", b"c=biws,m=x,").replace(b"r=", b"R="),
        lambda final: final.partition(b",p=")[0],
        lambda final: b"p=" + final.partition(b",p=")[2] + b"," + final.partition(b",p=")[0],
        lambda final: final.replace(b",p=", b",p=*"),
        lambda final: final.partition(b",p=")[0] + b",p=" + base64.b64encode(b"short"),
        lambda final: final.partition(b",p=")[0] + b",p=" + base64.b64encode(b"x" * 200),
        lambda final: final.partition(b",p=")[0] + b",p=",
        lambda final: final.replace(b",p=", b",v="),
        lambda final: final.replace(b",p=", b"\xff,p="),
    ],
)
def test_malformed_last_message_is_rejected(mechanism: str, change: object) -> None:
    assert callable(change)
    client = ScramClient(mechanism, "alice", "secret")
    exchange = HOST.open(mechanism)
    challenge = HOST.send(exchange, client.first())
    assert isinstance(challenge, Challenge)
    end = HOST.send(exchange, change(client.final(challenge.message)))
    assert isinstance(end, Rejected)
    assert end.message == UNINFORMATIVE + mechanism


@each_mechanism
def test_every_flipped_bit_of_a_valid_proof_is_rejected(mechanism: str) -> None:
    client = ScramClient(mechanism, "alice", "secret")
    challenge = HOST.challenge(mechanism, client.first())
    unsigned = client.final_without_proof(challenge)
    proof = client.proof(challenge, unsigned)

    def last(changed: bytes) -> Visible:
        return final_instead(mechanism, f"{unsigned},p={base64.b64encode(changed).decode()}".encode())

    assert isinstance(last(proof), Accepted)
    for bit in range(8 * len(proof)):
        flipped = (int.from_bytes(proof, "big") ^ 1 << bit).to_bytes(len(proof), "big")
        assert isinstance(last(flipped), Rejected), bit


@each_mechanism
def test_every_flipped_bit_of_a_valid_last_message_is_rejected(mechanism: str) -> None:
    client = ScramClient(mechanism, "alice", "secret")
    challenge = HOST.challenge(mechanism, client.first())
    final = client.final(challenge)
    assert isinstance(final_instead(mechanism, final), Accepted)
    for bit in range(8 * len(final)):
        flipped = (int.from_bytes(final, "big") ^ 1 << bit).to_bytes(len(final), "big")
        assert isinstance(final_instead(mechanism, flipped), Rejected), bit


@each_mechanism
@pytest.mark.parametrize(
    "changed",
    [
        lambda nonce: nonce[:-1],
        lambda nonce: nonce + "x",
        lambda nonce: "x" + nonce,
        lambda nonce: nonce.removesuffix(SERVER_NONCE),
        lambda _: SERVER_NONCE,
        lambda nonce: nonce.swapcase(),
    ],
)
def test_other_nonce_is_rejected_even_if_it_is_signed(mechanism: str, changed: object) -> None:
    assert callable(changed)
    client = ScramClient(mechanism, "alice", "secret")
    challenge = HOST.challenge(mechanism, client.first())
    end = final_instead(mechanism, client.final(challenge, nonce=changed(client.nonce + SERVER_NONCE)))
    assert isinstance(end, Rejected)
    assert "nonce" in end.reason


@each_mechanism
@pytest.mark.parametrize("header", ["y,,", "p=tls-unique,,", "n,a=alice,", "n,,x", "n,"])
def test_other_channel_binding_is_rejected_even_if_it_is_signed(mechanism: str, header: str) -> None:
    client = ScramClient(mechanism, "alice", "secret")
    challenge = HOST.challenge(mechanism, client.first())
    binding = base64.b64encode(header.encode()).decode()
    end = final_instead(mechanism, client.final(challenge, binding=binding))
    assert isinstance(end, Rejected)
    assert "channel binding" in end.reason


@each_mechanism
def test_last_message_of_another_exchange_is_rejected(mechanism: str) -> None:
    client = ScramClient(mechanism, "alice", "secret")
    challenge = HOST.challenge(mechanism, client.first())
    final = client.final(challenge)
    assert isinstance(HOST.play(mechanism, client.first(), final)[-1], Accepted)
    later = Host(HOST.users, server_nonce="another-server-nonce")
    assert isinstance(later.play(mechanism, client.first(), final)[-1], Rejected)


@each_mechanism
def test_proof_of_another_user_is_rejected(mechanism: str) -> None:
    client = ScramClient(mechanism, "bob", "hunter2")
    challenge = HOST.challenge(mechanism, client.first())
    end = final_instead(mechanism, client.final(challenge))
    assert isinstance(end, Rejected)


@each_mechanism
@pytest.mark.parametrize("iterations", [0, 1, 4095, 16385])
def test_stored_credential_outside_the_limits_is_not_used(mechanism: str, iterations: int) -> None:
    good = credential(ScramMechanism(mechanism), "secret")
    bad = ScramCredential(good.salt, good.stored_key, good.server_key, iterations)
    [end] = Host({"alice": {ScramMechanism(mechanism): bad}}).play(
        mechanism, ScramClient(mechanism, "alice", "secret").first()
    )
    assert isinstance(end, Rejected)
    assert end.message == UNINFORMATIVE + mechanism


def test_server_nonce_must_be_long_and_printable() -> None:
    for nonce in (
        "",
        "short",
        "has,a,comma,in,between",
        "has a space in between",
        "h\xe4s an umlaut........",
    ):
        with pytest.raises(ValueError, match="server nonce"):
            scram_exchange(ScramMechanism.SHA_256, nonce, UNKNOWN)


@each_mechanism
def test_challenge_for_an_unknown_user_is_always_the_same(mechanism: str) -> None:
    first = ScramClient(mechanism, "carol", "secret").first()
    challenge = HOST.challenge(mechanism, first)
    assert Host().challenge(mechanism, first) == challenge
    other = Host(unknown=UnknownUsers(b"another secret of the tests"))
    assert other.challenge(mechanism, first) != challenge
    renamed = HOST.challenge(mechanism, first.replace(b"carol", b"caroL"))
    assert renamed.partition(b",s=")[2] != challenge.partition(b",s=")[2]
