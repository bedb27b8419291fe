"""Attempts to find out which users exist."""

import hashlib
from unittest.mock import patch

from dray.sasl import Challenge, Rejected, ScramMechanism
from tests.sasl.attacks.attacker import SCRAM, USERS, attack, host
from tests.sasl.clients import ScramClient, parse_server_first, plain_message
from tests.sasl.hosts import SHA_256, SHA_512, credential


@attack
def find_out_whether_a_user_exists() -> bool:
    """Compare everything that a client sees of an unknown user and of a wrong password."""
    for mechanism in SCRAM:
        seen = {_shape(mechanism, user) for user in ("alice", "carol")}
        if len(seen) > 1:
            return True
    rejections = {repr(_message(user, "")) for user in ("alice", "carol")}
    rejections |= {repr(_message(user, "mallory")) for user in ("alice", "carol")}
    return len(rejections) > 1


def _message(user: str, authorization_id: str) -> str:
    [end] = host().play("PLAIN", plain_message(user, "wrong", authorization_id))
    assert isinstance(end, Rejected)
    return end.message


def _shape(mechanism: str, user: str) -> tuple[object, ...]:
    """Return what a client sees, with other salts, and iterations as sent."""
    client = ScramClient(mechanism, user, "wrong")
    server = host({"alice": {name: credential(name, "secret", salt=b"0" * 25) for name in ScramMechanism}})
    [first] = server.play(mechanism, client.first())
    if not isinstance(first, Challenge):
        return (first,)
    end = server.play(mechanism, client.first(), client.final(first.message))[-1]
    iterations = parse_server_first(first.message).iterations
    return (iterations, type(end), end.message if isinstance(end, Rejected) else None)


@attack
def find_out_whether_a_user_exists_by_authorization_id() -> bool:
    for mechanism in SCRAM:
        seen = {
            repr([type(event).__name__ for event in host().play(mechanism, f"n,a=x,n={user},r=abc".encode())])
            for user in ("alice", "carol")
        }
        if len(seen) > 1:
            return True
    return False


@attack
def find_out_whether_a_user_exists_by_asking_twice() -> bool:
    first = ScramClient("SCRAM-SHA-256", "carol", "x").first()
    return host().play("SCRAM-SHA-256", first) != host().play("SCRAM-SHA-256", first)


@attack
def find_out_whether_a_user_exists_by_processor_time() -> bool:
    """Count what PLAIN computes: for no user, for one of the mechanisms, for both; right and wrong."""
    stored = {
        **USERS,
        "one": {SHA_256: credential(SHA_256, "hunter2")},
        "two": {SHA_512: credential(SHA_512, "hunter2")},
    }
    costs: set[tuple[int, ...]] = set()
    for user in ("carol", "alice", "mallory", "one", "two"):
        with patch("hashlib.pbkdf2_hmac", wraps=hashlib.pbkdf2_hmac) as computed:
            host(stored).play("PLAIN", plain_message(user, "hunter2"))
        costs.add(tuple(call.args[3] for call in computed.call_args_list))
    return len(costs) > 1
