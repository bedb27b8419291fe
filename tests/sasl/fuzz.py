"""Mutated transcripts of valid exchanges, none of which may authenticate a client.

    python -m tests.sasl.fuzz --count 1000000 [--seed 7] [--first 123]

Each case takes messages that were, or would have been, accepted, and changes them: bits, bytes, cuts,
repetitions, parts of other messages. The exchange must end with `Rejected`, or wait for more; an exception
is a failure too. A failure names its seed and number, with which `--first N --count 1` repeats it.
"""

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final

from dray.sasl import Accepted, Challenge, Claims, InvalidToken
from dray.sasl.tokens import validate
from tests.sasl.clients import ScramClient, bearer_message, plain_message
from tests.sasl.hosts import Host, Users, Visible, users
from tests.sasl.signing import NOW_MS, NOW_S, RULES, claims, signed, signing_keys

SCRAM: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
USER, PASSWORD = "alice", "correct horse"
_MESSAGES_MAX: Final = 4


class FuzzFailure(AssertionError):
    """A case that authenticated a client, or raised."""


def fuzz(count: int, *, seed: int = 0, first: int = 0) -> Counter[str]:
    """Run cases, and count how each kind ended. Raises `FuzzFailure`."""
    outcomes: Counter[str] = Counter()
    for number in range(first, first + count):
        chance = random.Random(f"{seed}/{number}")
        kind = chance.choice(KINDS)
        try:
            end = kind(chance)
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise FuzzFailure(f"--seed {seed} --first {number}: {kind.__name__} raised {error!r}") from error
        if isinstance(end, Accepted):
            raise FuzzFailure(f"--seed {seed} --first {number}: {kind.__name__} authenticated {end}")
        outcomes[f"{kind.__name__}: {type(end).__name__}"] += 1
    return outcomes


# --- kinds of cases


def mutated_scram(chance: random.Random) -> Visible | None:
    """A correct client, one of whose messages is changed on the way."""
    client = _client(chance)
    host = _host(chance)
    exchange = host.open(client.mechanism)
    first, change_first = client.first(), chance.random() < 0.5
    seen = host.send(exchange, mutate(chance, first) if change_first else first)
    if not isinstance(seen, Challenge):
        return seen
    challenge = seen.message if chance.random() < 0.5 else host.challenge(client.mechanism, first)
    final = client.final(challenge)
    return host.send(exchange, final if change_first and chance.random() < 0.5 else mutate(chance, final))


def replayed_scram(chance: random.Random) -> Visible | None:
    """The recorded messages of a correct client, in another exchange; perhaps changed."""
    client = _client(chance)
    recorded = client.final(_host(chance).challenge(client.mechanism, client.first()))
    if chance.random() < 0.7:
        recorded = mutate(chance, recorded)
    return _host(chance).play(client.mechanism, client.first(), recorded)[-1]


def mutated_plain(chance: random.Random) -> Visible | None:
    """A correct message, changed; left out is one that says the same."""
    message = mutate(chance, plain_message(USER, PASSWORD, chance.choice(("", USER))))
    if message in (plain_message(USER, PASSWORD), plain_message(USER, PASSWORD, USER)):
        return None
    return _host(chance).play("PLAIN", message)[-1]


def mutated_token(chance: random.Random) -> Visible | None:
    """A message with a valid token, whose token is changed; left out is one that still has it."""
    token = _tokens()[0]
    changed = mutate(chance, token.encode()).decode("latin-1")
    message = f"n,,\x01auth=Bearer {changed}\x01\x01".encode("latin-1")
    if token in re.split("[\x01 ]", changed):
        return None
    return _host(chance).play("OAUTHBEARER", message, mutate(chance, b"\x01"))[-1]


def mutated_invalid_token(chance: random.Random) -> Visible | None:
    """A token that is signed, but expired or meant for others, in a changed message."""
    message = bearer_message(chance.choice(_tokens()[1:]))
    if chance.random() < 0.9:
        message = mutate(chance, message)
    return _host(chance).play("OAUTHBEARER", message, b"\x01")[-1]


def shuffled(chance: random.Random) -> Visible | None:
    """Messages of any mechanism, to any mechanism, in any order, all of which belong to other exchanges."""
    mechanism = chance.choice((*SCRAM, "PLAIN", "OAUTHBEARER"))
    messages = [mutate(chance, chance.choice(_corpus())) for _ in range(chance.randint(1, _MESSAGES_MAX))]
    return _host(chance).play(mechanism, *messages)[-1]


KINDS: Final[Sequence[Callable[[random.Random], Visible | None]]] = (
    mutated_scram,
    replayed_scram,
    mutated_plain,
    mutated_token,
    mutated_invalid_token,
    shuffled,
)


# --- mutations


def mutate(chance: random.Random, message: bytes) -> bytes:
    """Return a message that differs."""
    changed = message
    while changed == message:
        for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
            changed = chance.choice(_MUTATIONS)(chance, changed)
    return changed


def _flip(chance: random.Random, message: bytes) -> bytes:
    if not message:
        return b"\0"
    place = chance.randrange(len(message))
    return message[:place] + bytes([message[place] ^ 1 << chance.randrange(8)]) + message[place + 1 :]


def _insert(chance: random.Random, message: bytes) -> bytes:
    place = chance.randint(0, len(message))
    return message[:place] + chance.choice(_FRAGMENTS) + message[place:]


def _cut(chance: random.Random, message: bytes) -> bytes:
    start, end = sorted(chance.randint(0, len(message)) for _ in range(2))
    return message[:start] + message[end:]


def _truncate(chance: random.Random, message: bytes) -> bytes:
    return message[: chance.randint(0, len(message))]


def _repeat(chance: random.Random, message: bytes) -> bytes:
    start, end = sorted(chance.randint(0, len(message)) for _ in range(2))
    return message[:end] + message[start:end] * chance.choice((1, 2, 50)) + message[end:]


def _swap_fields(chance: random.Random, message: bytes) -> bytes:
    separator = chance.choice((b",", b"\0", b"\x01", b"."))
    fields = message.split(separator)
    chance.shuffle(fields)
    return separator.join(fields)


def _splice(chance: random.Random, message: bytes) -> bytes:
    other = chance.choice(_corpus())
    return message[: chance.randint(0, len(message))] + other[chance.randint(0, len(other)) :]


_MUTATIONS: Final = (_flip, _insert, _cut, _truncate, _repeat, _swap_fields, _splice)
_FRAGMENTS: Final = (
    b"\0", b"\x01", b",", b"=", b".", b" ", b"\n", b"A", b"\xff", b"\xc3\xa9", b"=2C", b"=3D", b"n=", b"r=",
    b"p=", b"c=", b"y,,", b"m=x,", b",x=y", b"biws", b"alice", b"a=alice", b"tokenauth=true",
    b"eyJhbGciOiJub25lIn0",
)  # fmt: skip


# --- valid messages


def _client(chance: random.Random) -> ScramClient:
    return ScramClient(chance.choice(SCRAM), USER, PASSWORD, nonce=f"{chance.getrandbits(100):x}")


def _host(chance: random.Random) -> Host:
    return Host(_users(), validate=_validate, server_nonce=f"{chance.getrandbits(120):030x}")


def _validate(token: str) -> Claims | InvalidToken:
    return validate(token, NOW_MS, signing_keys(), RULES)


@cache
def _users() -> Users:
    return users(**{USER: PASSWORD, "bob": "hunter2"})


@cache
def _tokens() -> tuple[str, ...]:
    """Return a valid token, then invalid ones."""
    return (
        signed(),
        signed(claims(exp=NOW_S - 31)),
        signed(claims(nbf=NOW_S + 31)),
        signed(claims(aud="other")),
        signed(claims(iss="https://other.example")),
        signed(kid="other"),
    )


@cache
def _corpus() -> tuple[bytes, ...]:
    """Return messages of exchanges that were completed with other nonces."""

    def messages() -> Iterator[bytes]:
        for mechanism in SCRAM:
            client = ScramClient(mechanism, USER, PASSWORD)
            yield client.first()
            yield client.final(Host(_users()).challenge(mechanism, client.first()))
        yield plain_message("bob", "not his password")
        yield from map(bearer_message, _tokens()[1:])
        yield b"\x01"

    return tuple(messages())


def main() -> None:
    parser = argparse.ArgumentParser(description="Fuzz SASL exchanges.")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    options = parser.parse_args()
    for outcome, times in sorted(fuzz(options.count, seed=options.seed, first=options.first).items()):
        sys.stdout.write(f"{times:>9}  {outcome}\n")


if __name__ == "__main__":
    main()
