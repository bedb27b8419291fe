"""Tokens that no issuer has signed, or that are meant for another time or place."""

from typing import Any

from dray.sasl import Claims
from dray.sasl.tokens import SigningKeys, TokenRules, validate
from tests.sasl.attacks.attacker import attack
from tests.sasl.keys import rsa_key, weak_key
from tests.sasl.signing import (
    AUDIENCE,
    ISSUER,
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


def token(payload: dict[str, Any] | None = None, rules: TokenRules = RULES, **header: Any) -> bool:
    return isinstance(validate(signed(payload, **header), NOW_MS, signing_keys(), rules), Claims)


def raw_token(text: str, rules: TokenRules = RULES) -> bool:
    return isinstance(validate(text, NOW_MS, signing_keys(), rules), Claims)


@attack
def token_unsigned() -> bool:
    header = {"alg": "none", "kid": "rsa"}
    return raw_token(f"{segment(header)}.{segment(claims())}.")


@attack
def token_unsigned_where_the_rules_ask_for_it() -> bool:
    try:
        rules = TokenRules(ISSUER, frozenset({AUDIENCE}), algorithms=frozenset({"none", "RS256"}))
    except ValueError:
        return False
    header = {"alg": "none", "kid": "rsa"}
    return raw_token(f"{segment(header)}.{segment(claims())}.", rules)


@attack
def token_signed_with_the_public_key() -> bool:
    return any(
        raw_token(signed_with_secret(secret, algorithm))
        for secret in public_key_forms()
        for algorithm in ("HS256", "HS384", "HS512")
    )


@attack
def token_signed_with_another_key() -> bool:
    return token(key=rsa_key("stranger"), kid="rsa") or token(key=rsa_key("stranger"))


@attack
def token_with_its_own_key() -> bool:
    public = rsa_key("stranger").as_dict(private=False)
    return token(key=rsa_key("stranger"), jwk=public) or token(key=rsa_key("stranger"), jwk=public, kid=None)


@attack
def token_with_changed_claims() -> bool:
    header, _, signature = signed(claims(sub="mallory")).split(".")
    return raw_token(f"{header}.{segment(claims(sub='alice'))}.{signature}")


@attack
def token_that_names_a_key_that_was_revoked() -> bool:
    return token(kid="revoked")


@attack
def token_of_a_disallowed_algorithm() -> bool:
    rules = TokenRules(ISSUER, frozenset({AUDIENCE}), algorithms=frozenset({"ES256"}))
    return token(rules=rules)


@attack
def token_with_a_critical_extension() -> bool:
    return token(b64=True, crit=["b64"])


@attack
def token_of_a_weak_key() -> bool:
    weak = weak_key()
    keys = SigningKeys.parse({"keys": [rsa_key().as_dict(private=False), weak.as_dict(private=False)]})
    return isinstance(validate(signed(key=weak), NOW_MS, keys, RULES), Claims)


@attack
def token_expired() -> bool:
    return token(claims(exp=NOW_S - 31)) or token(claims(exp=NOW_S - 30)) or token(claims(exp=0))


@attack
def token_that_never_expires() -> bool:
    return any(
        token(claims(exp=exp)) for exp in (None, float("nan"), float("inf"), 1e300, "9999999999", True)
    )


@attack
def token_not_yet_valid() -> bool:
    return token(claims(nbf=NOW_S + 31)) or token(claims(nbf=NOW_S + 10**6, exp=NOW_S + 10**7))


@attack
def token_issued_in_the_future() -> bool:
    return token(claims(iat=NOW_S + 31))


@attack
def token_without_time_of_issue() -> bool:
    return token(claims(iat=None))


@attack
def token_of_another_issuer() -> bool:
    return token(claims(iss="https://other.example")) or token(claims(iss=None))


@attack
def token_for_another_audience() -> bool:
    return token(claims(aud="other")) or token(claims(aud=["other", "kafka2"])) or token(claims(aud=None))


@attack
def token_for_an_audience_where_none_is_expected() -> bool:
    return token(rules=TokenRules(ISSUER))


@attack
def token_without_a_name() -> bool:
    return any(token(claims(sub=name)) for name in (None, "", "  ", "\t\n"))


@attack
def token_of_many_bytes() -> bool:
    text = signed()
    return raw_token(text, TokenRules(ISSUER, frozenset({AUDIENCE}), token_bytes_max=len(text) - 1))
