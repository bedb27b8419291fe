"""Records for the matrix: every shape that a record can have, in a few hundred of them."""

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
    """Bytes that no codec makes smaller."""
    return hashlib.shake_128(seed.to_bytes(8, "big")).digest(length)


def hour_ago_ms() -> int:
    """Old enough to be told from now, young enough not to fall to any retention."""
    return int(time.time() * 1000) - 3_600_000


def varied(count: int, partitions: Sequence[int]) -> list[Record]:
    """Records whose keys, values and headers take every shape; each is a second later than the one before.

    No record is without both key and value: aiokafka refuses to send one.
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
