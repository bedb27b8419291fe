"""Compact map from keys to their last offsets: 24 bytes a key and a slot of the hash table.

Keys are identified by 128 bits of SipHash with a random seed for each map. If n keys are in the map and m
keys are looked up, the probability that two different ones count as equal is below n·m/2^128: for 2^23 and
2^40 that is 2^-65. Colliding keys cannot be chosen without the seed.

The encoding is for the time of a job only: a magic, the seed, the number of keys, a CRC-32C over everything
else, then the hashes, then the offsets, all little-endian.
"""

from struct import Struct
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
from crc32c import crc32c
from numpy.typing import NDArray
from typing_extensions import Buffer

from dray.records.columns import key_kernel as kernel

Array = TypeVar("Array", bound=NDArray[Any])

SEED_BYTES: Final = 16
_MAGIC: Final = b"DKEYS1\0\0"
_HEAD: Final = Struct(f"<8s{SEED_BYTES}sQ")
_CRC: Final = Struct("<I")
_SPARE: Final = 2
"""Slots per key at least; with fewer, probing takes longer."""


class DamagedKeys(Exception):
    """The bytes are not an encoded map: no record may be removed by it."""


class LastOffsets:
    """A map from keys to offsets, with a maximum number of keys."""

    def __init__(self, seed: bytes, keys_max: int) -> None:
        self._seed = np.frombuffer(seed, "<u8").astype(np.uint64)
        self._table = kernel.Table(
            slots=np.full(_SPARE * keys_max + 1, -1, np.int32),
            hashes=np.empty((keys_max, 2), np.uint64),
            offsets=np.empty(keys_max, np.int64),
        )
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def put(self, keys: pa.Array, offsets: NDArray[np.int64]) -> None:
        """Add keys and their offsets, which ascend from call to call; nulls are ignored."""
        present = valid(keys)
        self._put(self._hash(keys)[present], offsets[present])

    def find(self, keys: pa.Array) -> NDArray[np.int64]:
        """Return the last offset of each key; -1 for a missing key, any number for a null."""
        found = np.empty(len(keys), np.int64)
        kernel.find_all(self._hash(keys), self._table, found)
        return found

    def encoded(self) -> list[Buffer]:
        seed = self._seed.astype("<u8").tobytes()
        head = _HEAD.pack(_MAGIC, seed, self._count)
        hashes, offsets = self._table.hashes[: self._count], self._table.offsets[: self._count]
        body = [hashes.view(np.uint8).reshape(-1).data, offsets.view(np.uint8).data]
        crc = crc32c(head)
        for part in body:
            crc = crc32c(part, crc)
        return [head, _CRC.pack(crc), *body]

    @classmethod
    def decoded(cls, data: Buffer) -> "LastOffsets":
        """Decode the result of `encoded`; raises `DamagedKeys`."""
        view = memoryview(data)
        start = _HEAD.size + _CRC.size
        if len(view) < start:
            raise DamagedKeys(f"{len(view)} bytes are not a map of keys")
        magic, seed, count = _HEAD.unpack_from(view)
        (crc,) = _CRC.unpack_from(view, _HEAD.size)
        if magic != _MAGIC or len(view) != start + 24 * count:
            raise DamagedKeys(f"{len(view)} bytes that begin with {magic!r} are not a map of {count} keys")
        if crc32c(view[start:], crc32c(view[: _HEAD.size])) != crc:
            raise DamagedKeys(f"a map of {count} keys does not have CRC {crc:08x}")
        made = cls(seed, count)
        hashes = np.frombuffer(view, np.uint64, 2 * count, start).reshape(count, 2)
        offsets = np.frombuffer(view, np.int64, count, start + 16 * count)
        made._put(hashes, offsets)
        return made

    def _put(self, hashes: NDArray[np.uint64], offsets: NDArray[np.int64]) -> None:
        self._count = kernel.put_all(_fixed(hashes), _fixed(offsets), self._table, self._count)

    def _hash(self, keys: pa.Array) -> NDArray[np.uint64]:
        out = np.empty((len(keys), 2), np.uint64)
        _, ends, data = keys.buffers()
        if len(keys):
            of_keys = np.frombuffer(b"" if data is None else data, np.uint8)
            starts = np.frombuffer(ends, np.int32)[keys.offset : keys.offset + len(keys) + 1]
            kernel.hash_all(_fixed(of_keys), _fixed(starts), _fixed(self._seed), out)
        return out


def _fixed(array: Array) -> Array:
    """Return the array as read-only: kernels are compiled once for each kind of array."""
    array.setflags(write=False)
    return array


def valid(column: pa.Array) -> NDArray[np.bool_]:
    """Return which values are not null."""
    found: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return found
