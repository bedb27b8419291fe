"""A host of exchanges that keeps users in a dictionary, as a broker keeps them in the metadata store."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from dray.sasl import (
    Accepted,
    Challenge,
    Claims,
    Event,
    Exchange,
    InvalidToken,
    NeedClaims,
    NeedCredentials,
    NeedVerification,
    Rejected,
    ScramCredential,
    ScramMechanism,
    UnknownUsers,
    derive,
    oauthbearer_exchange,
    plain_exchange,
    scram_exchange,
)

SHA_256, SHA_512 = ScramMechanism.SHA_256, ScramMechanism.SHA_512
SERVER_NONCE = "3rfcNHYJY1ZVvWVs7j4k5l6m7n"
UNKNOWN = UnknownUsers(b"a secret of the tests, 32 bytes ")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")

Users = Mapping[str, Mapping[ScramMechanism, ScramCredential]]
Visible = Challenge | Accepted | Rejected
"""The events that a client sees."""


@cache
def credential(
    mechanism: ScramMechanism, password: str, *, salt: bytes = b"a salt of the tests", iterations: int = 4096
) -> ScramCredential:
    return derive(mechanism, password, salt, iterations)


def users(**passwords: str) -> Users:
    """Return users with both credentials."""
    return {
        name: {mechanism: credential(mechanism, password) for mechanism in ScramMechanism}
        for name, password in passwords.items()
    }


def no_tokens(token: str) -> Claims | InvalidToken:
    return InvalidToken(f"no token is valid here, nor is {len(token)} bytes")


@dataclass
class Host:
    """Answers the questions of exchanges, and remembers them."""

    users: Users = field(default_factory=dict)
    validate: Callable[[str], Claims | InvalidToken] = no_tokens
    unknown: UnknownUsers = UNKNOWN
    server_nonce: str = SERVER_NONCE
    asked: list[Event] = field(default_factory=list)

    def open(self, mechanism: str, *, reauthentication: bool = False) -> Exchange:
        if mechanism == "PLAIN":
            return plain_exchange(self.unknown, reauthentication=reauthentication)
        if mechanism == "OAUTHBEARER":
            return oauthbearer_exchange(reauthentication=reauthentication)
        return scram_exchange(
            ScramMechanism(mechanism), self.server_nonce, self.unknown, reauthentication=reauthentication
        )

    def send(self, exchange: Exchange, message: bytes) -> Visible:
        """Send a message of the client, and return what the client sees of it."""
        event = exchange.receive(message)
        while not isinstance(event, Visible):
            self.asked.append(event)
            event = self._answer(exchange, event)
        return event

    def play(self, mechanism: str, *messages: bytes) -> list[Visible]:
        """Send the messages of a client that does not wait, up to the end of the exchange."""
        exchange = self.open(mechanism)
        seen: list[Visible] = []
        for message in messages:
            seen.append(self.send(exchange, message))
            if not isinstance(seen[-1], Challenge):
                break
        return seen

    def challenge(self, mechanism: str, first: bytes) -> bytes:
        """Return the challenge to a first message."""
        [event] = self.play(mechanism, first)
        assert isinstance(event, Challenge), event
        return event.message

    def _answer(self, exchange: Exchange, event: NeedCredentials | NeedVerification | NeedClaims) -> Event:
        match event:
            case NeedCredentials(user, mechanisms):
                known = self.users.get(user, {})
                return exchange.resume({name: known[name] for name in mechanisms if name in known})
            case NeedVerification(verify):
                return exchange.resume(verify())
            case NeedClaims(token):
                return exchange.resume(self.validate(token))
