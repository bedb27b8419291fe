"""Partitions of a column of keys, by Kafka's default partitioner: murmur2, in a compiled kernel.

The hash is 32-bit and unsigned, computed in 64 bits with a mask. Tests compare it with librdkafka's.
"""

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dray.records.columns.compiled import compiled, load

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
def _place(data: int, ends: NDArray[np.int32], partitions: int, out: NDArray[np.int32]) -> None:
    """Set the partition of each key; `data` is the address of their bytes, `ends` has one more element."""
    for row in range(len(out)):
        hashed = _murmur2(data + ends[row], ends[row + 1] - ends[row])
        out[row] = (hashed & _POSITIVE) % partitions


def partitions_of(keys: pa.Array, partitions: int) -> NDArray[np.int32]:
    """Return the partition of each key of a binary column; undefined for a null."""
    found = np.zeros(len(keys), np.int32)
    _, ends, data = keys.buffers()
    if len(keys) and ends is not None:
        offsets = np.frombuffer(ends, np.int32)[keys.offset : keys.offset + len(keys) + 1]
        _place(data.address if data else 0, offsets, partitions, found)
    return found
