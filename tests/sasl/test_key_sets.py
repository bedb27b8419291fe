"""Key sets: which keys are used, and for what."""

from typing import Any

import pytest

from dray.sasl import Claims, InvalidToken
from dray.sasl.tokens import InvalidKeySet, SigningKeys, validate
from tests.sasl.keys import ec_key, rsa_key
from tests.sasl.signing import NOW_MS, NOW_S, RULES, key_set, signed

VALID = Claims("alice", (NOW_S + 600) * 1000)


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"keys": None},
        {"keys": {}},
        {"keys": []},
        {"keys": [5, None, "RSA", []]},
        {"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "rsa"}]},
        {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AAAA"}]},
        {"keys": [{"kty": "RSA", "n": "A" * 342}]},
        {"keys": [{"kty": "RSA", "n": "A" * 100, "e": "AQAB"}]},
        {"keys": [{"kty": "RSA", "n": 5, "e": 5}]},
        {"keys": [{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}]},
        {"keys": [{"kty": []}]},
    ],
)
def test_key_set_without_a_usable_key(found: dict[str, Any]) -> None:
    with pytest.raises(InvalidKeySet):
        SigningKeys.parse(found)


def test_keys_that_cannot_be_used_are_skipped() -> None:
    rsa = key_set()["keys"][0]
    others = [{"kty": "oct", "k": "c2VjcmV0"}, {"kty": "ML-DSA"}, rsa | {"use": "enc"}, 5]
    keys = SigningKeys.parse({"keys": [*others, rsa]})
    assert len(keys) == 1
    assert validate(signed(), NOW_MS, keys, RULES) == VALID


def test_private_parts_of_a_published_key_are_not_read() -> None:
    keys = SigningKeys.parse({"keys": [rsa_key().as_dict(private=True)]})
    [key] = keys.candidates({"alg": "RS256"})
    assert key.is_private is False
    assert validate(signed(), NOW_MS, keys, RULES) == VALID


def test_token_without_a_key_id_is_tried_with_every_key() -> None:
    keys = SigningKeys.parse({"keys": [rsa_key("rsa-2").as_dict(private=False), *key_set()["keys"]]})
    assert len(keys) == 3
    assert validate(signed(kid=None), NOW_MS, keys, RULES) == VALID
    assert validate(signed(key=ec_key(), algorithm="ES256", kid=None), NOW_MS, keys, RULES) == VALID


def test_key_of_one_algorithm_is_not_used_for_another() -> None:
    keys = SigningKeys.parse({"keys": [key_set()["keys"][0] | {"alg": "RS512"}]})
    assert isinstance(validate(signed(), NOW_MS, keys, RULES), InvalidToken)
    assert validate(signed(algorithm="RS512"), NOW_MS, keys, RULES) == VALID
