"""Validation of tokens: signatures, algorithms, claims, and tokens made to deceive."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwk

from dray.sasl import Claims, InvalidToken
from dray.sasl.tokens import ALGORITHMS, SigningKeys, TokenRules, validate, validator
from tests.sasl.keys import ec_key, rsa_key
from tests.sasl.signing import (
    AUDIENCE,
    NOW_MS,
    NOW_S,
    RULES,
    claims,
    public_key_forms,
    segment,
    signed,
    signed_with_secret,
    signing_keys,
)

VALID = Claims("alice", (NOW_S + 600) * 1000)


def checked(token: str, rules: TokenRules = RULES, now_ms: int = NOW_MS) -> Claims | InvalidToken:
    return validate(token, now_ms, signing_keys(), rules)


def reason(token: str, rules: TokenRules = RULES, now_ms: int = NOW_MS) -> str:
    found = checked(token, rules, now_ms)
    assert isinstance(found, InvalidToken), found
    return found.reason


@pytest.mark.parametrize("algorithm", sorted(name for name in ALGORITHMS if name not in ("ES384", "ES512")))
def test_token_of_every_algorithm_is_valid(algorithm: str) -> None:
    key = ec_key() if algorithm.startswith("ES") else rsa_key()
    assert checked(signed(key=key, algorithm=algorithm)) == VALID


@pytest.mark.parametrize(("algorithm", "curve"), [("ES384", "P-384"), ("ES512", "P-521")])
def test_larger_curves(algorithm: str, curve: Any) -> None:
    key = jwk.ECKey.generate_key(curve, {"kid": curve})
    keys = SigningKeys.parse({"keys": [key.as_dict(private=False)]})
    assert validate(signed(key=key, algorithm=algorithm), NOW_MS, keys, RULES) == VALID
    assert isinstance(
        validate(signed(key=ec_key(), algorithm="ES256", kid=curve), NOW_MS, keys, RULES), InvalidToken
    )


def test_validator_keeps_keys_and_rules() -> None:
    check = validator(signing_keys(), RULES)
    assert check(signed(), NOW_MS) == VALID
    assert isinstance(check(signed(), NOW_MS + 10**9), InvalidToken)


@pytest.mark.parametrize(
    ("exp", "now_ms", "valid"),
    [
        (NOW_S, NOW_MS + 29_999, True),
        (NOW_S, NOW_MS + 30_000, False),
        (NOW_S + 0.5, NOW_MS, True),
        (NOW_S - 3600, NOW_MS, False),
        (0, NOW_MS, False),
    ],
)
def test_expiry_up_to_the_clock_skew(exp: float, now_ms: int, valid: bool) -> None:
    found = checked(signed(claims(exp=exp, iat=0)), now_ms=now_ms)
    assert isinstance(found, Claims) is valid
    if isinstance(found, Claims):
        assert found.expires_at_ms == exp * 1000
    else:
        assert "expired" in found.reason


@pytest.mark.parametrize("claim", ["nbf", "iat"])
def test_token_of_the_future_up_to_the_clock_skew(claim: str) -> None:
    assert checked(signed(claims(**{claim: NOW_S + 30}))) == VALID
    assert re.search("not yet valid|in the future", reason(signed(claims(**{claim: NOW_S + 31}))))


@pytest.mark.parametrize("claim", ["exp", "iat", "iss", "aud"])
def test_claim_that_is_required(claim: str) -> None:
    assert claim in reason(signed(claims(**{claim: None})))


@pytest.mark.parametrize("claim", ["exp", "iat", "nbf"])
@pytest.mark.parametrize("value", ["1900000000", True, [], {}, float("nan"), float("inf"), 1e300, -1])
def test_time_that_is_not_a_time_of_this_world(claim: str, value: object) -> None:
    found = checked(signed(claims(**{claim: value})))
    if (claim, value) in (("iat", -1), ("nbf", -1)):
        assert found == VALID
    else:
        assert isinstance(found, InvalidToken)


@pytest.mark.parametrize(
    "issuer", ["https://other.example", "", "https://issuer.example/", ["https://issuer.example"], 5]
)
def test_other_issuer(issuer: object) -> None:
    assert "iss" in reason(signed(claims(iss=issuer)))


def test_any_issuer_where_none_is_expected() -> None:
    rules = TokenRules(audiences=RULES.audiences)
    assert checked(signed(claims(iss="https://other.example")), rules) == VALID
    assert checked(signed(claims(iss=None)), rules) == VALID


@pytest.mark.parametrize(
    "audience", ["other", "", [], ["other"], ["kafk", "a"], "kafka ", 5, [AUDIENCE, 5], {}]
)
def test_other_audience(audience: object) -> None:
    assert "aud" in reason(signed(claims(aud=audience)))


@pytest.mark.parametrize("audience", [AUDIENCE, [AUDIENCE], ["other", AUDIENCE]])
def test_expected_audience_may_be_one_of_several(audience: object) -> None:
    assert checked(signed(claims(aud=audience))) == VALID


def test_token_that_names_an_audience_is_refused_where_none_is_expected() -> None:
    rules = TokenRules(issuer=RULES.issuer)
    assert "aud" in reason(signed(), rules)
    assert checked(signed(claims(aud=None)), rules) == VALID


@pytest.mark.parametrize("name", [None, "", "  ", 5, ["alice"], {"a": 1}, True])
def test_principal_must_be_a_name(name: object) -> None:
    assert "sub" in reason(signed(claims(sub=name)))


def test_principal_claim_can_be_configured() -> None:
    rules = TokenRules(issuer=RULES.issuer, audiences=RULES.audiences, principal_claim="client_id")
    found = checked(signed(claims(client_id=" service-7 ", sub=None)), rules)
    assert isinstance(found, Claims)
    assert found.principal_name == "service-7"
    assert "client_id" in reason(signed(), rules)


@pytest.mark.parametrize(
    ("scope", "scopes"), [("a b", {"a", "b"}), (["a", "b c", 5], {"a", "b c"}), (None, set()), (5, set())]
)
def test_scopes(scope: object, scopes: set[str]) -> None:
    found = checked(signed(claims(scope=scope)))
    assert isinstance(found, Claims)
    assert found.scopes == scopes
    other = TokenRules(issuer=RULES.issuer, audiences=RULES.audiences, scope_claim="scp")
    found = checked(signed(claims(scp=scope, scope="x")), other)
    assert isinstance(found, Claims)
    assert found.scopes == scopes


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "nOnE", "", None, 5, ["RS256"]])
def test_unsigned_token(algorithm: object) -> None:
    header = {"alg": algorithm, "kid": "rsa"}
    for signature in ("", "AA", signed().rpartition(".")[2]):
        assert isinstance(checked(f"{segment(header)}.{segment(claims())}.{signature}"), InvalidToken)


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
@pytest.mark.parametrize("secret", public_key_forms(), ids=range(6))
def test_token_signed_with_the_public_key_as_secret(algorithm: str, secret: bytes) -> None:
    assert "not allowed" in reason(signed_with_secret(secret, algorithm))


@pytest.mark.parametrize("algorithms", [set(), {"none"}, {"HS256"}, {"RS256", "HS256"}, {"rs256"}])
def test_rules_cannot_allow_algorithms_without_a_key_pair(algorithms: set[str]) -> None:
    with pytest.raises(ValueError, match="expected some of"):
        TokenRules(algorithms=frozenset(algorithms))


def test_algorithm_that_the_rules_do_not_allow() -> None:
    rules = TokenRules(issuer=RULES.issuer, audiences=RULES.audiences, algorithms=frozenset({"ES256"}))
    assert "not allowed" in reason(signed(), rules)
    assert checked(signed(key=ec_key(), algorithm="ES256"), rules) == VALID


def test_clock_skew_cannot_be_negative() -> None:
    with pytest.raises(ValueError, match="clock skew"):
        TokenRules(clock_skew_s=-1)


def test_token_signed_with_another_key() -> None:
    assert "has signed" in reason(signed(key=rsa_key("rsa-2"), kid="rsa"))
    assert "has signed" in reason(signed(key=rsa_key("rsa-2")))
    assert "has signed" in reason(signed(key=rsa_key("rsa-2"), kid=None))
    assert "has signed" in reason(signed(kid="ec"))


def test_key_inside_the_token_is_ignored() -> None:
    stranger = rsa_key("stranger")
    public = stranger.as_dict(private=False)
    for header in (
        {"jwk": public},
        {"jku": "https://stranger.example/keys"},
        {"x5u": "https://stranger.example"},
    ):
        assert "has signed" in reason(signed(key=stranger, **header))
        assert "has signed" in reason(signed(key=stranger, **(header | {"kid": None})))


@pytest.mark.parametrize("header", [{"crit": ["exp"]}, {"crit": []}, {"b64": True}])
def test_critical_extension_is_refused(header: dict[str, Any]) -> None:
    extended = segment({"alg": "RS256", "kid": "rsa"} | header)
    assert "critical" in reason(f"{extended}.{segment(claims())}.AAAA")


def test_unknown_header_parameter_is_ignored() -> None:
    assert checked(signed(nonce="abc", ver="2.0", x5c=["A" * 2000])) == VALID


def test_large_token_is_refused_unread() -> None:
    rules = TokenRules(issuer=RULES.issuer, audiences=RULES.audiences, token_bytes_max=2000)
    fits = signed(claims(padding="x" * 800))
    assert checked(fits, rules) == VALID
    assert "at most 2000" in reason(signed(claims(padding="x" * 1500)), rules)
    assert checked(signed(claims(padding="x" * 40_000))) == VALID


@pytest.mark.parametrize(
    "header",
    [
        ["alg"],
        "alg",
        "xalg",
        5,
        None,
        {},
        {"alg": "RS256", "crit": 5},
        {"alg": "RS256", "kid": 5},
        {"alg": "RS256", "kid": []},
    ],
)
def test_header_of_a_wrong_type(header: object) -> None:
    assert reason(f"{segment(header)}.{segment(claims())}.AAAA")


@pytest.mark.parametrize(
    "payload",
    [b"", b"5", b"[]", b"null", b'"exp"', b"{", b"\xff", b"[" * 30_000, b'{"exp":' + b"9" * 5000 + b"}"],
)
def test_payload_that_is_not_an_object(payload: bytes) -> None:
    protected = segment({"alg": "RS256", "kid": "rsa"})
    signature = rsa_key().private_key.sign(  # type: ignore[union-attr]
        f"{protected}.{segment(payload)}".encode(), *_pkcs1_sha256()
    )
    assert reason(f"{protected}.{segment(payload)}.{segment(signature)}")


def _pkcs1_sha256() -> tuple[Any, Any]:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    return padding.PKCS1v15(), hashes.SHA256()


@pytest.mark.parametrize("token", ["", ".", "..", "...", "a", "a.b", "a.b.c", "a.b.c.d.e", "\ud800", "=.=.="])
def test_text_that_is_not_a_token(token: str) -> None:
    assert reason(token)


def test_every_changed_character_is_refused() -> None:
    token = signed(key=ec_key(), algorithm="ES256")
    assert checked(token) == VALID
    for position, character in enumerate(token):
        other = "A" if character != "A" else "B"
        assert isinstance(checked(token[:position] + other + token[position + 1 :]), InvalidToken), position


@given(st.text(st.sampled_from("abcAZ019-_.="), max_size=60))
def test_random_text_is_refused(text: str) -> None:
    assert isinstance(checked(text), InvalidToken)
