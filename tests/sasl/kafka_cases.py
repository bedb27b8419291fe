"""Exchanges that are run on Apache Kafka and on Dray.

A step makes the client's next message from the server's challenge (None at first).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tests.sasl.clients import ScramClient, bearer_message, parse_server_first, plain_message, respelled
from tests.sasl.keys import ec_key, rsa_key
from tests.sasl.signing import SHARED_SECRET, claims, public_key_forms, segment, signed, signed_with_secret

LONG_NAME: Final = "a" * 1025
PASSWORDS: Final = {
    "alice": "secret",
    "mallory": "hunter2",
    "a,b=c": "secret",
    "zoë": "pässword",
    "tofu": "\ufffd",
    LONG_NAME: "secret",
}
SCRAM: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")


def clock() -> int:
    """Return the time in seconds; Kafka's validator reads the machine's clock."""
    return int(time.time())


Step = Callable[[bytes | None], bytes]


@dataclass(frozen=True)
class Case:
    name: str
    mechanism: str
    steps: Sequence[Step]


def constant(message: bytes) -> Step:
    return lambda _: message


def _plain() -> Mapping[str, bytes]:
    return {
        "right": plain_message("alice", "secret"),
        "right, with authorization id": plain_message("alice", "secret", "alice"),
        "right, not ASCII": plain_message("zoë", "pässword"),
        "right, with commas": plain_message("a,b=c", "secret"),
        "wrong password": plain_message("alice", "wrong"),
        "unknown user": plain_message("carol", "secret"),
        "other authorization id": plain_message("alice", "secret", "mallory"),
        "wrong password, other authorization id": plain_message("alice", "wrong", "mallory"),
        "empty": b"",
        "one token": b"alice",
        "two tokens": b"alice\0secret",
        "four tokens": b"\0alice\0secret\0",
        "five tokens": b"\0alice\0secret\0\0",
        "no user": b"\0\0secret",
        "no password": b"\0alice\0",
        "nothing in three": b"\0\0",
        "not UTF-8": b"\0alice\0\xff",
        "not UTF-8, as if it were": b"\0tofu\0\xff",
        "name of 1,025 bytes": plain_message(LONG_NAME, "secret"),
    }


def _scram_clients() -> Mapping[str, dict[str, Any]]:
    """Return changes of a correct client of Alice."""
    return {
        "right": {},
        "right, escaped name": {"user": "a,b=c"},
        "right, with authorization id": {"header": "n,a=alice,"},
        "not ASCII": {"user": "zoë", "password": "pässword"},
        "name of 1,025 bytes": {"user": LONG_NAME},
        "wrong password": {"password": "wrong"},
        "unknown user": {"user": "carol"},
        "other authorization id": {"header": "n,a=mallory,"},
        "other authorization id of an unknown user": {"user": "carol", "header": "n,a=mallory,"},
        "escaped authorization id": {"user": "a,b=c", "header": "n,a=a=2Cb=3Dc,"},
        "extension": {"extensions": ",x=y"},
        "mandatory extension": {"mandatory": "m=x,"},
        "no token": {"extensions": ",tokenauth=false"},
        "token": {"extensions": ",tokenauth=true"},
        "header y": {"header": "y,,"},
        "header p": {"header": "p=tls-unique,,"},
    }


def _scram_firsts() -> Mapping[str, bytes]:
    return {
        "empty": b"",
        "only the header": b"n,,",
        "no nonce": b"n,,n=alice",
        "empty nonce": b"n,,n=alice,r=",
        "space in the nonce": b"n,,n=alice,r=a b",
        "empty name": b"n,,n=,r=abc",
        "wrong escape": b"n,,n=a=b,r=abc",
        "escape in lower case": b"n,,n=a=2cb,r=abc",
        "zero in the name": b"n,,n=a\0b,r=abc",
        "comma at the end": b"n,,n=alice,r=abc,",
        "extension without a value": b"n,,n=alice,r=abc,x=",
        "extension named by a digit": b"n,,n=alice,r=abc,1=x",
        "line feed at the end": b"n,,n=alice,r=abc\n",
        "unknown header": b"n,x=y,n=alice,r=abc",
        "empty authorization id": b"n,a=,n=alice,r=abc",
        "header in upper case": b"N,,n=alice,r=abc",
    }


def _scram_finals() -> Mapping[str, Callable[[ScramClient, bytes], bytes]]:
    def unsigned(change: Callable[[bytes], bytes]) -> Callable[[ScramClient, bytes], bytes]:
        return lambda client, challenge: change(client.final(challenge))

    def nonce(change: Callable[[str], str]) -> Callable[[ScramClient, bytes], bytes]:
        return lambda client, challenge: client.final(
            challenge, nonce=change(parse_server_first(challenge).nonce)
        )

    return {
        "empty": unsigned(lambda _: b""),
        "cut": unsigned(lambda final: final[:-4]),
        "more": unsigned(lambda final: final + b",x=y"),
        "no proof": unsigned(lambda final: final.partition(b",p=")[0]),
        "empty proof": unsigned(lambda final: final.partition(b",p=")[0] + b",p="),
        "proof of another length": unsigned(lambda final: final.partition(b",p=")[0] + b",p=AAAA"),
        "proof of zeros": unsigned(lambda final: final.partition(b",p=")[0] + b",p=" + b"A" * 43 + b"="),
        "not base64": unsigned(lambda final: final.replace(b",p=", b",p=*")),
        "another spelling of the proof": unsigned(respelled),
        "extension": partial(ScramClient.final, extensions=",x=y"),
        "shorter nonce": nonce(lambda text: text[:-1]),
        "longer nonce": nonce(lambda text: text + "x"),
        "nonce after other characters": nonce(lambda text: "x" + text),
        "binding y": partial(ScramClient.final, binding="eSws"),
        "binding p": partial(ScramClient.final, binding="cD10bHMtdW5pcXVlLCw="),
    }


def _bearers() -> Mapping[str, bytes]:
    right = bearer_message(_token())
    return {
        "right": right,
        "right, EC": bearer_message(_token(key=ec_key(), algorithm="ES256")),
        "right, PSS": bearer_message(_token(algorithm="PS256")),
        "right, scheme in lower case": right.replace(b"Bearer", b"bearer"),
        "right, with extensions": bearer_message(_token(), extensions="host=broker\x01port=9092\x01"),
        "right, with authorization id": bearer_message(_token(), authorization_id="alice"),
        "other authorization id": bearer_message(_token(), authorization_id="mallory"),
        "another scheme": right.replace(b"Bearer", b"Basic"),
        "header y": right.replace(b"n,,", b"y,,"),
        "no separator at the end": right[:-1],
        "no auth": b"n,,\x01host=broker\x01\x01",
        "empty auth": b"n,,\x01auth=\x01\x01",
        "key with a dash": bearer_message(_token(), extensions="trace-id=1\x01"),
        "auth twice": bearer_message("a.b.c", extensions=f"auth=Bearer {_token()}\x01"),
        "empty": b"",
        "not a token": bearer_message("abc"),
        "no key id": bearer_message(_token(kid=None)),
        "unknown key id": bearer_message(_token(kid="other")),
        "signed by another key": bearer_message(_token(key=rsa_key("other"), kid="rsa")),
        "its own key": bearer_message(
            _token(key=rsa_key("other"), jwk=rsa_key("other").as_dict(private=False))
        ),
        "unsigned": bearer_message(f"{segment({'alg': 'none'})}.{segment(_claims())}."),
        "signed with the public key": bearer_message(signed_with_secret(public_key_forms()[0], "HS256")),
        "signed with a secret of the key set": bearer_message(
            signed_with_secret(SHARED_SECRET, "HS256", _claims(), kid="shared")
        ),
        "70 KiB": bearer_message(_token(padding="x" * 52_000)),
        "critical extension": bearer_message(_critical()),
        "unknown header parameter": bearer_message(_token(nonce="abc")),
        "expired": bearer_message(_token(exp=-120)),
        "expired within the skew": bearer_message(_token(exp=-5)),
        "not yet valid": bearer_message(_token(nbf=120)),
        "not yet valid within the skew": bearer_message(_token(nbf=10)),
        "issued in the future": bearer_message(_token(iat=120)),
        "no expiry": bearer_message(_token(exp=None)),
        "no time of issue": bearer_message(_token(iat=None)),
        "no subject": bearer_message(_token(sub=None)),
        "empty subject": bearer_message(_token(sub=" ")),
        "subject with spaces": bearer_message(_token(sub=" alice ")),
        "subject is a number": bearer_message(_token(sub=5)),
        "no issuer": bearer_message(_token(iss=None)),
        "other issuer": bearer_message(_token(iss="https://other.example")),
        "no audience": bearer_message(_token(aud=None)),
        "other audience": bearer_message(_token(aud="other")),
        "one of several audiences": bearer_message(_token(aud=["other", "kafka"])),
    }


def _claims(**changed: Any) -> dict[str, Any]:
    """Return claims; times are seconds from now."""
    times = {"iat": -60, "exp": 600} | {
        name: changed.pop(name) for name in ("iat", "exp", "nbf") if name in changed
    }
    return claims(**{name: None if at is None else clock() + at for name, at in times.items()}, **changed)


def _token(**changed: Any) -> str:
    """Return a token; times among the claims are seconds from now."""
    names = ("key", "algorithm", "kid", "jwk", "nonce")
    header = {name: changed.pop(name) for name in names if name in changed}
    return signed(_claims(**changed), **header)


def _critical() -> str:
    header = segment({"alg": "RS256", "kid": "rsa", "crit": ["exp"], "exp": 1})
    return f"{header}.{segment(_claims())}.{segment(b'x' * 256)}"


def cases() -> list[Case]:
    found = [Case(f"PLAIN: {name}", "PLAIN", [constant(message)]) for name, message in _plain().items()]
    for mechanism in SCRAM:
        for name, changed in _scram_clients().items():
            client = ScramClient(mechanism, **({"user": "alice", "password": "secret"} | changed))
            found.append(_scram(f"client: {name}", client, ScramClient.final))
        for name, first in _scram_firsts().items():
            found.append(Case(f"{mechanism}, first: {name}", mechanism, [constant(first)]))
        for name, final in _scram_finals().items():
            found.append(_scram(f"final: {name}", ScramClient(mechanism, "alice", "secret"), final))
    for name, message in _bearers().items():
        found.append(Case(f"OAUTHBEARER: {name}", "OAUTHBEARER", [constant(message), constant(b"\x01")]))
    found.append(
        Case(
            "OAUTHBEARER: another token",
            "OAUTHBEARER",
            [constant(_bearers()["expired"]), constant(_bearers()["right"])],
        )
    )
    return found


def _scram(name: str, client: ScramClient, final: Callable[[ScramClient, bytes], bytes]) -> Case:
    def last(challenge: bytes | None) -> bytes:
        assert challenge is not None
        return final(client, challenge)

    return Case(f"{client.mechanism}, {name}", client.mechanism, [constant(client.first()), last])
