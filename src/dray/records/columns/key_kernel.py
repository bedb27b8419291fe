"""Compiled hashing of keys, and a hash table from keys to offsets.

The hash is SipHash-2-4 with 128 bits. The table uses open addressing with linear probing: `slots` holds row
numbers of `hashes` and `offsets`, or -1. There are always more slots than rows.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dray.records.columns.compiled import compiled

Bytes = NDArray[np.uint8]
Hashes = NDArray[np.uint64]
Offsets = NDArray[np.int64]
Slots = NDArray[np.int32]

_8, _13, _16, _17, _21, _32, _56, _64 = (np.uint64(bits) for bits in (8, 13, 16, 17, 21, 32, 56, 64))
_V0, _V1 = np.uint64(0x736F6D6570736575), np.uint64(0x646F72616E646F6D)
_V2, _V3 = np.uint64(0x6C7967656E657261), np.uint64(0x7465646279746573)
_LONG, _SECOND = np.uint64(0xEE), np.uint64(0xDD)
_WORD = 8


@compiled
def _rotated(word: np.uint64, bits: np.uint64) -> np.uint64:
    return (word << bits) | (word >> (_64 - bits))


@compiled
def _round(
    v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    v0, v2 = v0 + v1, v2 + v3
    v1, v3 = _rotated(v1, _13) ^ v0, _rotated(v3, _16) ^ v2
    v0 = _rotated(v0, _32)
    v2, v0 = v2 + v1, v0 + v3
    v1, v3 = _rotated(v1, _17) ^ v2, _rotated(v3, _21) ^ v0
    return v0, v1, _rotated(v2, _32), v3


@compiled
def _word(data: Bytes, start: int, size: int) -> np.uint64:
    word = np.uint64(0)
    for at in range(size - 1, -1, -1):
        word = (word << _8) | np.uint64(data[start + at])
    return word


@compiled
def _hash(
    data: Bytes, start: int, end: int, seed_low: np.uint64, seed_high: np.uint64
) -> tuple[np.uint64, np.uint64]:
    v0, v1, v2, v3 = seed_low ^ _V0, seed_high ^ _V1 ^ _LONG, seed_low ^ _V2, seed_high ^ _V3
    at = start
    while end - at >= _WORD:
        word = _word(data, at, _WORD)
        v3 ^= word
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0 ^= word
        at += _WORD
    word = _word(data, at, end - at) | (np.uint64(end - start) << _56)
    v3 ^= word
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0 ^= word
    v2 ^= _LONG
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    first = v0 ^ v1 ^ v2 ^ v3
    v1 ^= _SECOND
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return first, v0 ^ v1 ^ v2 ^ v3


@compiled
def hash_all(data: Bytes, ends: Slots, seed: Hashes, out: Hashes) -> None:
    """Hash consecutive values in `data`; `ends` begins with the start of the first one."""
    for row in range(len(ends) - 1):
        out[row, 0], out[row, 1] = _hash(data, ends[row], ends[row + 1], seed[0], seed[1])


class Table(NamedTuple):
    """A table of fixed capacity."""

    slots: Slots
    hashes: Hashes
    offsets: Offsets


@compiled
def _slot(low: np.uint64, high: np.uint64, table: Table) -> int:
    """Return the slot that holds this hash, or the free one for it."""
    slots, hashes = table.slots, table.hashes
    at: int = np.int64(low % np.uint64(len(slots)))  # type: ignore[assignment]
    while slots[at] >= 0 and (hashes[slots[at], 0] != low or hashes[slots[at], 1] != high):
        at += 1
        if at == len(slots):
            at = 0
    return at


@compiled
def put_all(hashes: Hashes, offsets: Offsets, table: Table, count: int) -> int:
    """Set the offset of each hash, of equal ones the last; returns the count of hashes, which was `count`."""
    for row in range(len(hashes)):
        slot = _slot(hashes[row, 0], hashes[row, 1], table)
        if table.slots[slot] < 0:
            table.slots[slot] = count
            table.hashes[count, 0], table.hashes[count, 1] = hashes[row, 0], hashes[row, 1]
            count += 1
        table.offsets[table.slots[slot]] = offsets[row]
    return count


@compiled
def find_all(hashes: Hashes, table: Table, out: Offsets) -> None:
    """Set the offset of each hash in `out`; -1 for a missing one."""
    for row in range(len(hashes)):
        slot = _slot(hashes[row, 0], hashes[row, 1], table)
        out[row] = table.offsets[table.slots[slot]] if table.slots[slot] >= 0 else -1
