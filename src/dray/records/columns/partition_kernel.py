"""Which partition each key belongs to, compiled: Kafka's murmur2 over a column of bytes.

Its arithmetic is that of 32 bits without a sign, done in 64 bits with a mask, as in the plain version that
tests hold it to (`dray.cli.client.partitioner`).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dray.records.columns.compiled import compiled
from dray.records.columns.memory import load

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_R: Final = 24
_U32: Final = 0xFFFFFFFF
_POSITIVE: Final = 0x7FFFFFFF


@compiled
def _murmur2(at: int, length: int) -> int:
    mixed = (_SEED ^ length) & _U32
    whole = at + (length & ~3)
    while at < whole:
        word = load(at) | load(at + 1) << 8 | load(at + 2) << 16 | load(at + 3) << 24
        word = word * _M & _U32
        word = (word ^ word >> _R) * _M & _U32
        mixed = mixed * _M & _U32 ^ word
        at += 4
    left = length & 3
    if left:
        for place in range(left):
            mixed ^= load(at + place) << 8 * place
        mixed = mixed * _M & _U32
    mixed = (mixed ^ mixed >> 13) * _M & _U32
    return mixed ^ mixed >> 15


@compiled
def place(data: int, ends: NDArray[np.int32], partitions: int, out: NDArray[np.int32]) -> None:
    """Set the partition of every key; `data` is the address of their bytes, `ends` has one more than them."""
    for row in range(len(out)):
        hashed = _murmur2(data + ends[row], ends[row + 1] - ends[row])
        out[row] = (hashed & _POSITIVE) % partitions
