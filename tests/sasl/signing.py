"""Tokens and key set of an identity provider that exists in the tests only."""

import base64
import hmac
import json
from functools import cache
from typing import Any

from joserfc import jwt
from joserfc.jws import JWSRegistry

from dray.sasl.tokens import SigningKeys, TokenRules
from tests.sasl.keys import ec_key, rsa_key

NOW_S = 1_800_000_000
NOW_MS = NOW_S * 1000
SHARED_SECRET = b"a secret of the tests, of 32 bytes"
ISSUER, AUDIENCE = "https://issuer.example", "kafka"
RULES = TokenRules(issuer=ISSUER, audiences=frozenset({AUDIENCE}))


@cache
def key_set() -> dict[str, Any]:
    """Return the published key set: public keys, and a shared secret that should not be there."""
    shared = {"kty": "oct", "kid": "shared", "k": segment(SHARED_SECRET)}
    return {"keys": [dict(rsa_key().as_dict(private=False)), dict(ec_key().as_dict(private=False)), shared]}


@cache
def signing_keys() -> SigningKeys:
    return SigningKeys.parse(key_set())


def claims(**changed: Any) -> dict[str, Any]:
    """Return the claims of a valid token; a changed one that is None is left out."""
    valid = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "iat": NOW_S - 60, "exp": NOW_S + 600}
    return {name: value for name, value in (valid | changed).items() if value is not None}


def signed(
    payload: dict[str, Any] | None = None, key: Any = None, algorithm: str = "RS256", **header: Any
) -> str:
    """Return a token; `header` adds to and changes its header, None removes."""
    key = rsa_key() if key is None else key
    whole = {"alg": algorithm, "kid": key.kid} | header
    registry = JWSRegistry(algorithms=[algorithm], strict_check_header=False)
    registry.max_header_length = 1 << 20
    return jwt.encode(
        {name: value for name, value in whole.items() if value is not None},
        claims() if payload is None else payload,
        key,
        registry=registry,
    )


def signed_with_secret(
    secret: bytes, algorithm: str, payload: dict[str, Any] | None = None, **header: Any
) -> str:
    """Return a token of HS256, HS384 or HS512. joserfc refuses to make one from a public key."""
    whole = {"alg": algorithm, "kid": "rsa"} | header
    unsigned = f"{segment(whole)}.{segment(claims() if payload is None else payload)}"
    return f"{unsigned}.{segment(hmac.digest(secret, unsigned.encode(), f'sha{algorithm[2:]}'))}"


def public_key_forms() -> list[bytes]:
    """Return the bytes that a careless verifier may take for a shared secret."""
    pem = rsa_key().as_pem(private=False)
    modulus = str(key_set()["keys"][0]["n"])
    return [
        pem,
        pem.strip(),
        base64.b64decode(b"".join(pem.splitlines()[1:-1])),
        modulus.encode(),
        base64.urlsafe_b64decode(modulus + "=="),
        b"",
    ]


def segment(value: object) -> str:
    """Return JSON, or bytes, as a part of a token."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
