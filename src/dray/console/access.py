"""Access to the HTTP endpoints: the users of the Kafka listeners, by password or token.

On a loopback address everything is open. Elsewhere only the health of the process is; the rest needs
`Authorization: Basic` with the password of a user, or `Authorization: Bearer` with a token, and the right to
describe the cluster. A wrong password is answered late, as on a Kafka listener.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from dray.console.page import Page
from dray.ids import Principal
from dray.net.authenticator import Authenticator

_CHALLENGE: Final = {"www-authenticate": 'Basic realm="dray", charset="UTF-8", Bearer realm="dray"'}
_UNAUTHORIZED: Final = Page(401, b"authentication is required\n", headers=_CHALLENGE)
_FORBIDDEN: Final = Page(403, b"the right to describe the cluster is required\n")


class Access(Protocol):
    """Decides which requests are answered."""

    async def refusal(self, path: str, headers: Mapping[bytes, bytes], host: str) -> Page | None:
        """Return the response to a request that must not be answered; None for all others."""
        ...


class OpenAccess:
    """Answers every request."""

    async def refusal(self, _path: str, _headers: Mapping[bytes, bytes], _host: str) -> Page | None:
        return None


class UserAccess:
    """Answers the requests of users who may describe the cluster."""

    def __init__(
        self,
        authenticator: Authenticator | None,
        may_describe: Callable[[Principal, str], bool],
        *,
        delay_s: float,
        failed: Callable[[str], None],
        open_paths: frozenset[str] = frozenset({"/healthz"}),
    ) -> None:
        self._authenticator = authenticator
        """None if there are no users: then only the open paths are answered."""
        self._may_describe = may_describe
        self._delay_s = delay_s
        self._failed = failed
        """Counts and logs a failed login from a host."""
        self._open_paths = open_paths

    async def refusal(self, path: str, headers: Mapping[bytes, bytes], host: str) -> Page | None:
        if path in self._open_paths:
            return None
        given = headers.get(b"authorization")
        if given is None or self._authenticator is None:
            return _UNAUTHORIZED
        principal = await self._principal(given, self._authenticator)
        if principal is None:
            self._failed(host)
            await self._authenticator.clock.sleep(self._delay_s)
            return _UNAUTHORIZED
        return None if self._may_describe(principal, host) else _FORBIDDEN

    async def _principal(self, given: bytes, authenticator: Authenticator) -> Principal | None:
        scheme, _, value = given.strip().partition(b" ")
        match scheme.lower():
            case b"basic":
                user, password = _basic(value)
                return await authenticator.by_password(user, password)
            case b"bearer":
                return await authenticator.by_token(value.strip().decode("ascii", "replace"))
        return None


def _basic(value: bytes) -> tuple[str, str]:
    """Return user and password of a Basic header; both empty if it is malformed."""
    try:
        user, _, password = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return user, password
