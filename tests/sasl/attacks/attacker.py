"""The means of an attacker, and the list of all attacks.

Mallory has an account ("mallory", "hunter2") and knows neither Alice's password nor a signing key. Some
attacks break a rule of the protocol with that account; they have succeeded if the broker accepts it.
"""

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final

from dray.sasl import Accepted, Challenge, Claims, InvalidToken, ScramCredential, ScramMechanism
from dray.sasl.tokens import validate
from tests.sasl.clients import ScramClient, plain_message
from tests.sasl.hosts import Host, Visible, users
from tests.sasl.signing import NOW_MS, RULES, signing_keys

ATTACKS: Final[dict[str, Callable[[], bool]]] = {}
SCRAM: Final = tuple(mechanism.value for mechanism in ScramMechanism)

USERS: Final = users(alice="secret", mallory="hunter2", tofu="\ufffd")


def attack(function: Callable[[], bool]) -> Callable[[], bool]:
    """Register an attack under its name."""
    ATTACKS[function.__name__] = function
    return function


def host(
    stored: Mapping[str, Mapping[ScramMechanism, ScramCredential]] | None = None, **changed: Any
) -> Host:
    return Host(USERS if stored is None else stored, validate=valid_here, **changed)


def valid_here(token: str) -> Claims | InvalidToken:
    return validate(token, NOW_MS, signing_keys(), RULES)


def is_accepted(seen: list[Visible]) -> bool:
    return any(isinstance(event, Accepted) for event in seen)


def plain(user: str, password: str, authorization_id: str = "") -> bool:
    return is_accepted(host().play("PLAIN", plain_message(user, password, authorization_id)))


def scram(
    user: str = "mallory",
    password: str = "hunter2",
    *,
    change: Callable[[ScramClient, bytes], bytes] = ScramClient.final,
    server: Host | None = None,
    **client: Any,
) -> bool:
    """Run an exchange of each mechanism; `change` makes the last message from client and challenge."""
    return any(
        _scram(ScramClient(mechanism, user, password, **client), change, server or host())
        for mechanism in SCRAM
    )


def _scram(client: ScramClient, change: Callable[[ScramClient, bytes], bytes], server: Host) -> bool:
    exchange = server.open(client.mechanism)
    challenge = server.send(exchange, client.first())
    if not isinstance(challenge, Challenge):
        return False
    return isinstance(server.send(exchange, change(client, challenge.message)), Accepted)


def with_proof(client: ScramClient, challenge: bytes, proof: bytes) -> bytes:
    unsigned = client.final_without_proof(challenge)
    return f"{unsigned},p={base64.b64encode(proof).decode()}".encode()
