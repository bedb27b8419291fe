"""Exchanges whose every byte is known from elsewhere.

SHA-256 is the example of RFC 7677. There is no RFC with an example for SHA-512: that one has the same inputs,
and its proof, signature and keys were computed by the classes of Apache Kafka 4.3.1 (`ScramFormatter`).
"""

import base64
from dataclasses import dataclass

import pytest

from dray.sasl import (
    Accepted,
    Authenticated,
    Challenge,
    ScramCredential,
    ScramMechanism,
    derive,
    from_salted_password,
    verify_password,
)
from tests.sasl.clients import ScramClient, hi
from tests.sasl.hosts import Host

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
SERVER_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
NONCE = f"rOprNGfwEbeRWgbNEkqO{SERVER_NONCE}"


@dataclass(frozen=True)
class Vector:
    mechanism: ScramMechanism
    proof: str
    signature: str
    stored_key: str
    server_key: str


VECTORS = (
    Vector(
        ScramMechanism.SHA_256,
        proof="dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        signature="6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
        stored_key="WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=",
        server_key="wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
    ),
    Vector(
        ScramMechanism.SHA_512,
        proof="gMGXRcevScNtxZ6/8lQYpGtnsNAc3mGcmNomv+xnoOMw+3R2xNJdMNnzMlTN8PPC6wdp6dybEmDYXYTxwnYPJQ==",
        signature="ZQnYEgWQMFmmsM8aQMF0nDDCy/AgCzkwk8CmMZYcMg0vSVlKDanekLtifDSeVGT4+5ZxXnJq199RVG2rR7N7Zw==",
        stored_key="6AAub3065EYRmyFpM2RNwqK+eGnrkYuEWbXn19LsEmBqzu8QaCXNc1FwpnX9NhH2hK/60dzj9DoO5DvVkOHbvg==",
        server_key="jZHbYjC1aHh0/hKbxyBuGFjDrgjgKTT1esA7awWiKcRZ0o/0b1yWEebBeSVkkCFewf91nLDfKF24mvD5nmE6rA==",
    ),
)
each_vector = pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.mechanism.value)


@each_vector
def test_exchange_has_the_known_bytes(vector: Vector) -> None:
    stored = {"user": {vector.mechanism: derive(vector.mechanism, "pencil", SALT, 4096)}}
    seen = Host(stored, server_nonce=SERVER_NONCE).play(
        vector.mechanism.value,
        b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
        f"c=biws,r={NONCE},p={vector.proof}".encode(),
    )
    assert seen == [
        Challenge(f"r={NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()),
        Accepted(f"v={vector.signature}".encode(), Authenticated("user", vector.mechanism.value, None)),
    ]


@each_vector
def test_credential_has_the_known_keys(vector: Vector) -> None:
    credential = derive(vector.mechanism, "pencil", SALT, 4096)
    assert credential == ScramCredential(
        SALT, base64.b64decode(vector.stored_key), base64.b64decode(vector.server_key), 4096
    )
    salted = hi(vector.mechanism.hash_name, b"pencil", SALT, 4096)
    assert from_salted_password(vector.mechanism, salted, SALT, 4096) == credential
    assert verify_password(vector.mechanism, "pencil", credential)
    assert not verify_password(vector.mechanism, "Pencil", credential)


@each_vector
def test_client_of_the_tests_sends_the_known_bytes(vector: Vector) -> None:
    client = ScramClient(vector.mechanism.value, "user", "pencil")
    server_first = f"r={NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
    assert client.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert client.final(server_first) == f"c=biws,r={NONCE},p={vector.proof}".encode()
    assert client.server_final(server_first) == f"v={vector.signature}".encode()
