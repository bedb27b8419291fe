"""PLAIN (RFC 4616): the client sends its name and its password.

    client   [authorization id] NUL user NUL password
    server   (empty)

The password is verified against the SCRAM credentials of the user; either may match. Both are computed for
every user, made up where the user has none, so that the time does not depend on what the user has.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from dray.sasl.credentials import (
    InvalidCredential,
    ScramCredential,
    ScramMechanism,
    check_credential,
    verify_password,
)
from dray.sasl.events import Accepted, Authenticated, Credentials, NeedCredentials, NeedVerification
from dray.sasl.exchange import Exchange, Refused, Script, answered, check_user
from dray.sasl.unknown_users import UnknownUsers

PLAIN: Final = "PLAIN"

_MECHANISMS: Final = tuple(ScramMechanism)
_TOKENS: Final = 3


def plain_exchange(unknown: UnknownUsers, *, reauthentication: bool = False) -> Exchange:
    return Exchange(PLAIN, partial(_script, unknown), reauthentication=reauthentication)


def _script(unknown: UnknownUsers, message: bytes) -> Script:
    authorization_id, user, password = _parse(message)
    stored: Credentials = yield NeedCredentials(user, _MECHANISMS)
    answered(stored, Mapping)
    matches: bool = yield NeedVerification(_verification(unknown, user, password, stored))
    answered(matches, bool)
    if not matches:
        raise Refused(
            f"no user {user!r}" if not stored else f"wrong password of user {user!r}",
            "Authentication failed: Invalid username or password",
        )
    # As in Kafka only after the password: the message then reveals nothing.
    if authorization_id not in ("", user):
        raise Refused(
            f"user {user!r} requested authorization id {authorization_id!r}",
            "Authentication failed: Client requested an authorization id that is different from username",
        )
    return Accepted(b"", Authenticated(user, PLAIN, None))


def _parse(message: bytes) -> list[str]:
    try:
        tokens = message.decode().split("\0", _TOKENS)
    except UnicodeDecodeError:
        raise Refused(
            "the message is not UTF-8", "Authentication failed: Invalid username or password"
        ) from None
    if len(tokens) != _TOKENS:
        fault = f"expected {_TOKENS} tokens, got {len(tokens)}"
        raise Refused(fault, f"Invalid SASL/PLAIN response: {fault}")
    for name, value in (("username", tokens[1]), ("password", tokens[2])):
        if not value:
            raise Refused(f"no {name}", f"Authentication failed: {name} not specified")
    check_user(tokens[1])
    return tokens


def _verification(unknown: UnknownUsers, user: str, password: str, stored: Credentials) -> Callable[[], bool]:
    candidates: list[tuple[ScramMechanism, ScramCredential]] = []
    for mechanism in _MECHANISMS:
        made_up = unknown.credential(mechanism, user)  # in any case: it takes time
        credential = stored.get(mechanism, made_up)
        try:
            check_credential(mechanism, credential)
        except InvalidCredential as error:
            raise Refused(f"the {mechanism.value} credential of user {user!r}: {error}") from error
        candidates.append((mechanism, credential))

    def verify() -> bool:
        matches = [verify_password(mechanism, password, credential) for mechanism, credential in candidates]
        return any(matches)  # not before both are computed

    return verify
