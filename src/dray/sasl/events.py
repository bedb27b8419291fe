"""Events of an exchange, and the answers to those that ask.

event              the host …                                                  then calls
Challenge          sends the bytes, receives the client's next message         receive(message)
NeedCredentials    looks up the user's credentials                             resume(Credentials)
NeedVerification   calls `verify`, perhaps in a thread: it takes milliseconds  resume(bool)
NeedClaims         validates the token                                         resume(Claims or InvalidToken)
Accepted           sends the bytes; the client is authenticated                nothing
Rejected           sends the message as SASL_AUTHENTICATION_FAILED, closes     nothing
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from dray.sasl.credentials import ScramCredential, ScramMechanism

Credentials: TypeAlias = Mapping[ScramMechanism, ScramCredential]
"""The credentials that a user has; a mechanism without one is missing."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """Bytes for the client, which has to answer."""

    message: bytes


@dataclass(frozen=True, slots=True)
class NeedCredentials:
    """The exchange needs the credentials of a user who may not exist."""

    user: str
    mechanisms: tuple[ScramMechanism, ...]


@dataclass(frozen=True, slots=True)
class NeedVerification:
    """The exchange needs the result of a pure function that takes milliseconds of processor time."""

    verify: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class NeedClaims:
    """The exchange needs the claims of a token."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Claims:
    """What a valid token says."""

    principal_name: str
    expires_at_ms: int
    scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class InvalidToken:
    """The reason why a token is refused, for the log only."""

    reason: str
    key_is_unknown: bool = False
    """Whether it names a key that is not in the key set, which may have been published since."""


@dataclass(frozen=True, slots=True)
class Authenticated:
    """An authenticated client. Its principal is `User:` and the name."""

    principal_name: str
    mechanism: str
    expires_at_ms: int | None
    """When its credential expires; None if it does not."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The last bytes for the client, and its identity."""

    message: bytes
    authenticated: Authenticated


@dataclass(frozen=True, slots=True)
class Rejected:
    """The end of an exchange that failed."""

    reason: str
    """For the log; it may say what the client must not learn."""
    message: str
    """For the client."""


Question: TypeAlias = NeedCredentials | NeedVerification | NeedClaims
Event: TypeAlias = Challenge | Question | Accepted | Rejected
Answer: TypeAlias = Credentials | bool | Claims | InvalidToken
