"""The authenticator of a broker: runs SASL exchanges, and answers what they ask.

An exchange is a machine of `dray.sasl`. Here is what it must not have: the time, randomness, the users of the
cluster, threads for hashing passwords, and the signing keys of tokens.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol

from dray.ids import Principal
from dray.runtime import Clock, Entropy, Threads
from dray.sasl import (
    OAUTHBEARER,
    PLAIN,
    RANDOM_BYTES,
    Accepted,
    Challenge,
    Claims,
    Credentials,
    Event,
    Exchange,
    InvalidToken,
    NeedClaims,
    NeedCredentials,
    NeedVerification,
    Rejected,
    ScramMechanism,
    UnknownUsers,
    oauthbearer_exchange,
    plain_exchange,
    printable,
    scram_exchange,
)

_SCRAM: Final = {mechanism.value: mechanism for mechanism in ScramMechanism}
MECHANISMS: Final = (PLAIN, *_SCRAM, OAUTHBEARER)


class UserDirectory(Protocol):
    """The users of the cluster."""

    def credentials(self, user: str) -> Credentials:
        """Return the credentials of a user; none if there is no such user."""
        ...


TokenVerifier = Callable[[str, int], Awaitable[Claims | InvalidToken]]
"""Validates a token at a time in milliseconds."""


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Authenticates the clients of listeners with SASL."""

    mechanisms: tuple[str, ...]
    users: UserDirectory
    unknown: UnknownUsers
    clock: Clock
    entropy: Entropy
    threads: Threads
    verify_token: TokenVerifier | None = None

    def begin(self, mechanism: str, *, reauthentication: bool) -> Exchange:
        """Return a new exchange of one of `mechanisms`."""
        if mechanism == PLAIN:
            return plain_exchange(self.unknown, reauthentication=reauthentication)
        if mechanism == OAUTHBEARER:
            return oauthbearer_exchange(reauthentication=reauthentication)
        nonce = printable(self.entropy.token(RANDOM_BYTES))
        return scram_exchange(_SCRAM[mechanism], nonce, self.unknown, reauthentication=reauthentication)

    async def advance(self, exchange: Exchange, message: bytes) -> Challenge | Accepted | Rejected:
        """Pass a message of the client; returns what it is to be answered."""
        event: Event = exchange.receive(message)
        while not isinstance(event, Challenge | Accepted | Rejected):
            match event:
                case NeedCredentials(user, _):
                    event = exchange.resume(self.users.credentials(user))
                case NeedVerification(verify):
                    event = exchange.resume(await self._verified(verify))
                case NeedClaims(token):
                    event = exchange.resume(await self._claims(token))
        return event

    async def by_password(self, user: str, password: str) -> Principal | None:
        """Return the principal of a user who gives this password; None if it is wrong."""
        exchange = self.begin(PLAIN, reauthentication=False)
        return _principal(await self.advance(exchange, f"\0{user}\0{password}".encode()))

    async def by_token(self, token: str) -> Principal | None:
        """Return the principal of a token; None if it is not valid."""
        exchange = self.begin(OAUTHBEARER, reauthentication=False)
        return _principal(await self.advance(exchange, f"n,,\1auth=Bearer {token}\1\1".encode()))

    async def _verified(self, verify: Callable[[], bool]) -> bool:
        """Verify in a thread; if the client closes before that begins, nothing is computed or held for it."""
        wanted = [verify]
        try:
            return await self.threads.run(lambda: any(check() for check in tuple(wanted)))
        finally:
            wanted.clear()

    async def _claims(self, token: str) -> Claims | InvalidToken:
        if self.verify_token is None:
            return InvalidToken("no signing keys are configured")
        return await self.verify_token(token, self.clock.now_ms())


def _principal(event: Event) -> Principal | None:
    if not isinstance(event, Accepted):
        return None
    return Principal.user(event.authenticated.principal_name)
