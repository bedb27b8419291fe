"""Histories of an experiment's clients: records sent, acknowledged and read, as plain values for `rules`.

A record is identified by its name, `producer/partition/number`. Its value is the name followed by filler
derived from it, so a value that is corrupt or mixed with another decodes to a name that was never sent.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

Records = Mapping[int, Sequence[tuple[int, str]]]
"""Offsets and names by partition, in the order they were read."""

_LONG_EVERY = 200
_LONG_BYTES = 30_000
_SHORT_BYTES = 300


class Ack(NamedTuple):
    """Where a record was acknowledged, and when, on the monotonic clock."""

    partition: int
    offset: int
    at: float


@dataclass(slots=True)
class ProducerHistory:
    """One producer's own view; a record only in `sent` was neither acknowledged nor rejected."""

    sent: dict[str, float] = field(default_factory=dict)
    """When each record was handed to the client, in send order."""
    acknowledged: dict[str, Ack] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


def value_of(name: str) -> bytes:
    """Mostly short, sometimes long enough that the put of its WAL object takes a while."""
    number = zlib.crc32(name.encode())
    size = _LONG_BYTES if number % _LONG_EVERY == 0 else number % _SHORT_BYTES
    word = f"{number:08x}".encode()
    return name.encode() + b" " + (word * (size // len(word) + 1))[:size]


def name_of(value: bytes) -> str:
    name = value.split(b" ", 1)[0].decode(errors="replace")
    return name if value == value_of(name) else f"corrupt: {value[:60]!r}"
