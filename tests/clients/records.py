"""Records for the matrix: a few hundred of every shape that a record can have."""

import hashlib
import time
from collections.abc import Sequence
from typing import Final

from tests.clients.protocol import Record

MIB: Final = 1 << 20
_KEYS: Final = (None, b"key", b"", bytes(range(256)), "ключ".encode())
_HEADERS: Final[tuple[tuple[tuple[str, bytes | None], ...], ...]] = (
    (),
    (("one", b"1"),),
    (("twice", b"1"), ("between", b"\x00\xff"), ("twice", b"2")),
    (("null", None), ("empty", b""), ("größe", "✓".encode())),
)


def noise(length: int, seed: int) -> bytes:
    """Return incompressible bytes."""
    return hashlib.shake_128(seed.to_bytes(8, "big")).digest(length)


def hour_ago_ms() -> int:
    """Return a time old enough to differ from now and recent enough for any retention."""
    return int(time.time() * 1000) - 3_600_000


def varied(count: int, partitions: Sequence[int]) -> list[Record]:
    """Return records with keys, values and headers of every shape, at intervals of a second.

    No record lacks both key and value: aiokafka rejects that.
    """
    start_ms = hour_ago_ms()
    return [
        Record(
            key=b"for a tombstone" if number % 7 == 3 else _KEYS[number % len(_KEYS)],
            value=_value(number),
            headers=_HEADERS[number % len(_HEADERS)],
            timestamp=start_ms + number * 1000,
            partition=partitions[number % len(partitions)],
        )
        for number in range(count)
    ]


def _value(number: int) -> bytes | None:
    shapes = (
        f"value {number}".encode(),
        b"",
        noise(700, number),
        None,
        b"again and again " * 40,
        noise(1, number),
    )
    return shapes[number % 7] if number % 7 < len(shapes) else f"{number}".encode() * 5
