"""What the clients of an ordeal sent, were told and saw: values only, compared by `rules`.

A record is known by its name, `producer/partition/number`. Its value is the name and some filler that follows
from it, so that a value that was damaged or mixed with another is no name that anybody sent.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

Records = Mapping[int, Sequence[tuple[int, str]]]
"""Offsets and names by partition, in the order in which they were read."""

_LONG_EVERY = 200
_LONG_BYTES = 30_000
_SHORT_BYTES = 300


class Place(NamedTuple):
    """Where a record is, and when its sender was told (on the monotonic clock)."""

    partition: int
    offset: int
    at: float


@dataclass(slots=True)
class Told:
    """One producer's own view; what is in `sent` only was neither acknowledged nor refused."""

    sent: dict[str, float] = field(default_factory=dict)
    """When each record was handed over, in the order in which that happened."""
    acknowledged: dict[str, Place] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


def value_of(name: str) -> bytes:
    """Mostly short, sometimes long enough that its object takes a while to be written."""
    number = zlib.crc32(name.encode())
    size = _LONG_BYTES if number % _LONG_EVERY == 0 else number % _SHORT_BYTES
    word = f"{number:08x}".encode()
    return name.encode() + b" " + (word * (size // len(word) + 1))[:size]


def name_of(value: bytes) -> str:
    name = value.split(b" ", 1)[0].decode(errors="replace")
    return name if value == value_of(name) else f"damaged: {value[:60]!r}"
