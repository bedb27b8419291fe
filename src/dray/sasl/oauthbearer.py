"""OAUTHBEARER (RFC 7628): the client sends a token that another server has signed.

    client   n,[a=authorization id],^Aauth=Bearer token^A[key=value^A …]^A      ^A: the byte 0x01
    server   (empty)
             or, if the token is invalid:
    server   {"status":"invalid_token"}
    client   ^A
    server   the exchange has failed

The host validates the token (`dray.sasl.tokens`), because that needs the time and keys that change. Other
keys than `auth` are extensions, which are accepted and ignored, as Kafka does by default. After the error
nothing but the end follows; Kafka would accept another token there.
"""

import re
from typing import Final

from dray.sasl.events import Accepted, Authenticated, Challenge, Claims, InvalidToken, NeedClaims
from dray.sasl.exchange import Exchange, Refused, Script, answered, check_user
from dray.sasl.scram_messages import unescape

OAUTHBEARER: Final = "OAUTHBEARER"
ERROR_CHALLENGE: Final = '{"status":"invalid_token"}'
"""Kafka's error challenge; it does not say why."""

_ACKNOWLEDGED: Final = b"\x01"
_NAME: Final = r"(?:[^=,\0]|=2C|=3D)+"
_PAIR: Final = r"[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01"
_CLIENT_FIRST: Final = re.compile(rf"n,(?:a=(?P<authorization_id>{_NAME}))?,\x01(?P<pairs>(?:{_PAIR})*)\x01")
_BEARER: Final = re.compile(r"(?i:bearer) +(?P<token>[-_~+/.A-Za-z0-9]+=*)")


def oauthbearer_exchange(*, reauthentication: bool = False) -> Exchange:
    return Exchange(OAUTHBEARER, _script, reauthentication=reauthentication)


def _script(message: bytes) -> Script:
    authorization_id, token = _parse(message)
    claims: Claims | InvalidToken = yield NeedClaims(token)
    answered(claims, Claims, InvalidToken)
    if isinstance(claims, InvalidToken):
        answer: bytes = yield Challenge(ERROR_CHALLENGE.encode())
        acknowledged = "" if answer == _ACKNOWLEDGED else ", and the client did not acknowledge the error"
        raise Refused(f"invalid token: {claims.reason}{acknowledged}", ERROR_CHALLENGE)
    check_user(claims.principal_name)
    if authorization_id not in ("", claims.principal_name):
        raise Refused(
            f"{claims.principal_name!r} requested authorization id {authorization_id!r}",
            f"Authentication failed: Client requested an authorization id ({authorization_id}) that is "
            f"different from the token's principal name ({claims.principal_name})",
        )
    return Accepted(b"", Authenticated(claims.principal_name, OAUTHBEARER, claims.expires_at_ms))


def _parse(message: bytes) -> tuple[str, str]:
    """Return authorization id and token."""
    try:
        found = _CLIENT_FIRST.fullmatch(message.decode())
    except UnicodeDecodeError:
        found = None
    if found is None:
        raise Refused("not a client-first message of OAUTHBEARER")
    pairs = [pair.partition("=") for pair in found["pairs"].split("\x01")[:-1]]
    values = [value for key, _, value in pairs if key == "auth"]
    if len(values) != 1:
        raise Refused(f"'auth' is in the message {len(values)} times; expected once")
    bearer = _BEARER.fullmatch(values[0])
    if bearer is None:
        raise Refused("the value of 'auth' is not 'Bearer' and a token")
    return unescape(found["authorization_id"] or ""), bearer["token"]
