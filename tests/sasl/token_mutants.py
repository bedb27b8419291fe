"""Mutants of the validation of tokens, each with the attack that finds it."""

from typing import Final

from tests.sasl.mutation import Mutant

_UNVERIFIED: Final = "__import__('json').loads(jws.extract_compact(token.encode()).payload)"

TOKEN_MUTANTS: Final = (
    Mutant(
        "signatures are not verified",
        "tokens",
        "return jwt.decode(token, key, registry=registry).claims",
        f"return {_UNVERIFIED}",
        "token_with_changed_claims",
    ),
    Mutant(
        "a token brings its own key",
        "tokens",
        "    for key in keys.candidates(header):\n",
        '    own = (JWKRegistry.import_key(header["jwk"]),) if "jwk" in header else ()\n'
        "    for key in (*own, *keys.candidates(header)):\n",
        "token_with_its_own_key",
    ),
    Mutant(
        "a token without an algorithm of the rules is read unverified",
        "tokens",
        '        raise UnsupportedAlgorithmError(f"algorithm {algorithm!r} is not allowed")\n',
        f"        return {_UNVERIFIED}\n",
        "token_unsigned",
    ),
    Mutant(
        "the public key verifies shared secrets",
        "tokens",
        '        raise UnsupportedAlgorithmError(f"algorithm {algorithm!r} is not allowed")\n',
        "        from joserfc.jwk import OctKey\n"
        '        pem = next(key for key in keys._keys if key.kid == header["kid"]).as_pem(private=False)\n'
        "        secret = OctKey(pem, pem)\n"
        '        return jwt.decode(token, secret, algorithms=["HS256", "HS384", "HS512"]).claims\n',
        "token_signed_with_the_public_key",
    ),
    Mutant(
        "rules may allow everything",
        "tokens",
        "if not self.algorithms or not self.algorithms <= ALGORITHMS:",
        "if False:",
        "token_unsigned_where_the_rules_ask_for_it",
    ),
    Mutant(
        "rules do not restrict algorithms",
        "tokens",
        "algorithm not in rules.algorithms:\n",
        "algorithm not in ALGORITHMS:\n        raise UnsupportedAlgorithmError\n"
        "    rules, registry = TokenRules(), _registry(TokenRules())\n    if False:\n",
        "token_of_a_disallowed_algorithm",
    ),
    Mutant(
        "the key id is ignored",
        "tokens",
        'if "kid" in header:',
        "if False:",
        "token_that_names_a_key_that_was_revoked",
    ),
    Mutant(
        "critical extensions are ignored",
        "tokens",
        'if "crit" in header or "b64" in header:',
        "if False:",
        "token_with_a_critical_extension",
    ),
    Mutant(
        "weak keys are used",
        "tokens",
        "< _RSA_MODULUS_CHARACTERS_MIN",
        "< 1",
        "token_of_a_weak_key",
    ),
    Mutant(
        "tokens do not expire",
        "tokens",
        ".validate(claims)",
        '.validate({**claims, "exp": 1 << 62})',
        "token_expired",
    ),
    Mutant(
        "tokens may lack an expiry",
        "tokens",
        '"exp": {"essential": True}, ',
        "",
        "token_that_never_expires",
    ),
    Mutant(
        "an expiry may be any number",
        "tokens",
        "if not 0 <= expires_at <= _SECONDS_MAX:",
        "if False:",
        "token_that_never_expires",
    ),
    Mutant(
        "the future is not checked",
        "tokens",
        ".validate(claims)",
        '.validate({name: value for name, value in claims.items() if name != "nbf"})',
        "token_not_yet_valid",
    ),
    Mutant(
        "the time of issue is not checked",
        "tokens",
        ".validate(claims)",
        '.validate({**claims, "iat": 0})',
        "token_issued_in_the_future",
    ),
    Mutant(
        "tokens may lack a time of issue",
        "tokens",
        ', "iat": {"essential": True}',
        "",
        "token_without_time_of_issue",
    ),
    Mutant("any issuer", "tokens", "if rules.issuer is not None:", "if False:", "token_of_another_issuer"),
    Mutant(
        "no issuer",
        "tokens",
        'options["iss"] = {"essential": True, "value"',
        'options["iss"] = {"value"',
        "token_of_another_issuer",
    ),
    Mutant(
        "any audience", "tokens", "    if rules.audiences:\n", "    if False:\n", "token_for_another_audience"
    ),
    Mutant(
        "no audience",
        "tokens",
        'options["aud"] = {"essential": True, "values"',
        'options["aud"] = {"values"',
        "token_for_another_audience",
    ),
    Mutant(
        "an audience of others",
        "tokens",
        'if claims.get("aud") and not rules.audiences:',
        "if False:",
        "token_for_an_audience_where_none_is_expected",
    ),
    Mutant("a principal without a name", "tokens", " or not name.strip()", "", "token_without_a_name"),
    Mutant(
        "tokens of any size",
        "tokens",
        "if len(token) > rules.token_bytes_max:",
        "if False:",
        "token_of_many_bytes",
    ),
)
