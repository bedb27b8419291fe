"""Compressible values: random words, all values different, the same on every machine.

Words as in `benchmarks.kernels`. zstd compresses them to a quarter; if all values were equal, zstd and
dictionary encoding would be unrealistically fast.
"""

import random
from collections.abc import Iterator
from typing import Final

_WORDS: Final = 500
_WORD_BYTES: Final = 8
_TEXT_BYTES: Final = 4 << 20
_STRIDE: Final = 1_000_003
_NUMBER_BYTES: Final = 16


def texts(size: int, records: int) -> Iterator[bytes]:
    """Yield `records` values of `size` bytes: a number, then words from one long text."""
    text = _text()
    last, at, length = len(text) - size, 0, size - _NUMBER_BYTES
    for number in range(records):
        at = (at + _STRIDE) % last
        yield b"%016d" % number + text[at : at + length]


def _text() -> bytes:
    chance = random.Random(7)
    words = [bytes(chance.choices(b"abcdefghijklmnop", k=_WORD_BYTES)) for _ in range(_WORDS)]
    return b" ".join(chance.choices(words, k=_TEXT_BYTES // (_WORD_BYTES + 1)))
