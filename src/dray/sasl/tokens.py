"""JSON Web Tokens (RFC 7519), validated for OAUTHBEARER as by Kafka's `BrokerJwtValidator`.

A token is valid if
- one of the signing keys signed it, with an allowed algorithm. Only algorithms with a key pair can be
  allowed: never "none", nor those with a shared secret (HS256 …), for which a public key could be taken. A
  key named by the token (`kid`) must exist; keys inside a token are ignored;
- it has not expired, is valid already and was not issued in the future, up to the clock skew;
- `exp`, `iat` and the principal's claim are present, issuer and audience are the expected ones.

As in Kafka a token that names an audience is refused if none is expected. Kafka accepts a token that was
issued in the future. The cryptography is joserfc's; this module chooses what joserfc may do and gives it
the time. The package does not import it, because joserfc takes 20 MB of memory; a server of OAUTHBEARER does.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from joserfc import jws, jwt
from joserfc.errors import (
    BadSignatureError,
    InvalidClaimError,
    InvalidHeaderValueError,
    InvalidKeyCurveError,
    JoseError,
    KeyParameterError,
    UnsupportedAlgorithmError,
    UnsupportedHeaderError,
)
from joserfc.jwk import ECKey, JWKRegistry, RSAKey

from dray.sasl.events import Claims, InvalidToken

ALGORITHMS: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"}
)
"""What rules may allow: signatures that are made with a private key."""

_KEY_MEMBERS: Final = ("kty", "kid", "use", "key_ops", "alg", "n", "e", "crv", "x", "y")
"""Public members of a key; a private part that was published by mistake is not read."""
_RSA_MODULUS_CHARACTERS_MIN: Final = 342
"""2048 bits in base64, as Kafka demands of RSA keys."""
_FAILURES: Final = (JoseError, ValueError, TypeError, RecursionError)
"""joserfc raises its own errors for most tokens, and the others for some that are crafted."""
_SECONDS_MAX: Final = (1 << 63) // 1000


@dataclass(frozen=True, slots=True)
class TokenRules:
    """What a valid token must say. The names in parentheses are Kafka's keys."""

    issuer: str | None = None
    """(`sasl.oauthbearer.expected.issuer`) None: any, also none."""
    audiences: frozenset[str] = frozenset()
    """(`sasl.oauthbearer.expected.audience`) One of them must be in the token; empty: it must have none."""
    algorithms: frozenset[str] = ALGORITHMS
    clock_skew_s: int = 30
    """(`sasl.oauthbearer.clock.skew.seconds`)"""
    principal_claim: str = "sub"
    """(`sasl.oauthbearer.sub.claim.name`)"""
    scope_claim: str = "scope"
    """(`sasl.oauthbearer.scope.claim.name`)"""
    token_bytes_max: int = 64 << 10

    def __post_init__(self) -> None:
        if not self.algorithms or not self.algorithms <= ALGORITHMS:
            raise ValueError(f"algorithms {sorted(self.algorithms)}; expected some of {sorted(ALGORITHMS)}")
        if self.clock_skew_s < 0:
            raise ValueError(f"a clock skew of {self.clock_skew_s} s; expected at least 0")


class InvalidKeySet(Exception):
    """A JSON Web Key Set without one usable key; fix the set."""


class _UnknownKey(BadSignatureError):
    """The token names a key that is not in the key set."""


class SigningKeys:
    """The public keys of a JSON Web Key Set (RFC 7517) that can verify a token."""

    def __init__(self, keys: Iterable[RSAKey | ECKey]) -> None:
        self._keys = tuple(keys)

    @classmethod
    def parse(cls, key_set: Mapping[str, Any]) -> Self:
        """Read the keys that can be used, and skip others as the RFC demands.

        Raises `InvalidKeySet`.
        """
        found = key_set.get("keys")
        if not isinstance(found, list):
            raise InvalidKeySet("expected an object with a list 'keys'")
        usable = [key for key in map(_parse_key, found) if key is not None]
        if not usable:
            raise InvalidKeySet(f"none of {len(found)} keys is an RSA key of 2048 bits or an EC key")
        return cls(usable)

    def __len__(self) -> int:
        return len(self._keys)

    def has(self, key_id: object) -> bool:
        """Return whether there is a key with this id."""
        return any(key.kid == key_id for key in self._keys)

    def candidates(self, header: Mapping[str, Any]) -> tuple[RSAKey | ECKey, ...]:
        """Return the keys that may have signed a token: the one it names, or all of the algorithm's type."""
        wanted = "EC" if str(header.get("alg")).startswith("ES") else "RSA"
        keys = tuple(key for key in self._keys if key.key_type == wanted)
        if "kid" in header:
            return tuple(key for key in keys if key.kid == header["kid"])
        return keys


def validate(token: str, now_ms: int, keys: SigningKeys, rules: TokenRules) -> Claims | InvalidToken:
    """Validate a token as of now; takes a fraction of a millisecond of processor time."""
    if len(token) > rules.token_bytes_max:
        return InvalidToken(f"it has {len(token)} bytes; at most {rules.token_bytes_max} are allowed")
    try:
        claims = _verified(token, keys, rules)
        _check_claims(claims, now_ms, rules)
        return _claims(claims, rules)
    except _FAILURES as error:
        return InvalidToken(str(error) or type(error).__name__, isinstance(error, _UnknownKey))


def validator(keys: SigningKeys, rules: TokenRules) -> Callable[[str, int], Claims | InvalidToken]:
    """Return `validate` for these keys and rules."""
    return lambda token, now_ms: validate(token, now_ms, keys, rules)


def _parse_key(members: object) -> RSAKey | ECKey | None:
    if not isinstance(members, dict) or members.get("use", "sig") != "sig":
        return None
    kind = members.get("kty")
    if kind == "RSA" and len(str(members.get("n", ""))) < _RSA_MODULUS_CHARACTERS_MIN:
        return None
    if kind not in ("RSA", "EC"):
        return None
    try:
        key = JWKRegistry.import_key({name: members[name] for name in _KEY_MEMBERS if name in members})
    except _FAILURES:
        return None
    return key if isinstance(key, RSAKey | ECKey) else None


def _verified(token: str, keys: SigningKeys, rules: TokenRules) -> dict[str, Any]:
    """Return the claims of a token whose signature is valid."""
    registry = _registry(rules)
    header: object = jws.extract_compact(token.encode(), registry=registry).headers()
    if not isinstance(header, dict):
        raise InvalidHeaderValueError("the header is not an object")
    if "crit" in header or "b64" in header:
        raise UnsupportedHeaderError("critical extensions are not understood")
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in rules.algorithms:
        raise UnsupportedAlgorithmError(f"algorithm {algorithm!r} is not allowed")
    for key in keys.candidates(header):
        try:
            return jwt.decode(token, key, registry=registry).claims
        except (BadSignatureError, KeyParameterError, InvalidKeyCurveError):
            continue  # the key is of another algorithm, or another key signed
    failure = _UnknownKey if "kid" in header and not keys.has(header["kid"]) else BadSignatureError
    raise failure(f"no key with id {header.get('kid')!r} and algorithm {algorithm} has signed it")


def _registry(rules: TokenRules) -> jws.JWSRegistry:
    registry = jws.JWSRegistry(algorithms=sorted(rules.algorithms), strict_check_header=False)
    # A token may spend its bytes on any part, such as a certificate chain in the header.
    registry.max_header_length = rules.token_bytes_max
    registry.max_payload_length = rules.token_bytes_max
    return registry


def _check_claims(claims: dict[str, Any], now_ms: int, rules: TokenRules) -> None:
    if claims.get("aud") and not rules.audiences:
        raise InvalidClaimError("aud", "it names an audience, but none is expected")
    options: dict[str, jwt.ClaimsOption] = {"exp": {"essential": True}, "iat": {"essential": True}}
    if rules.issuer is not None:
        options["iss"] = {"essential": True, "value": rules.issuer}
    if rules.audiences:
        options["aud"] = {"essential": True, "values": sorted(rules.audiences)}
    jwt.JWTClaimsRegistry(now=now_ms // 1000, leeway=rules.clock_skew_s, **options).validate(claims)


def _claims(claims: dict[str, Any], rules: TokenRules) -> Claims:
    name = claims.get(rules.principal_claim)
    if not isinstance(name, str) or not name.strip():
        raise InvalidClaimError(rules.principal_claim, f"{rules.principal_claim!r} is not a name")
    expires_at: float = claims["exp"]  # checked to be a number
    if not 0 <= expires_at <= _SECONDS_MAX:
        raise InvalidClaimError("exp", "'exp' is out of range")
    return Claims(name.strip(), int(expires_at * 1000), _scopes(claims.get(rules.scope_claim)))


def _scopes(value: object) -> frozenset[str]:
    """Return the scopes: words of a string (RFC 8693), or a list."""
    if isinstance(value, str):
        return frozenset(value.split())
    if isinstance(value, list):
        return frozenset(scope for scope in value if isinstance(scope, str))
    return frozenset()
