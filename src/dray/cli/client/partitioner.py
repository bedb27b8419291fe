"""Which partition a record goes to. Pure.

A record with a key goes where Kafka's own producer would put it: by murmur2 of the key, so that one key stays
in one partition whichever client writes it. Records without a key stay together until their batch is
full, then go on to the next partition: larger batches, the same spread.
"""

from typing import Final

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_R: Final = 24
_U32: Final = 0xFFFFFFFF
_POSITIVE: Final = 0x7FFFFFFF


def murmur2(data: bytes) -> int:
    """Return the 32-bit hash as Kafka computes it, unsigned."""
    length = len(data)
    h = _SEED ^ length
    whole = length & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _U32
        k = (k ^ k >> _R) * _M & _U32
        h = h * _M & _U32 ^ k
    if whole < length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _U32
    h = (h ^ h >> 13) * _M & _U32
    return h ^ h >> 15


def partition_of_key(key: bytes, partitions: int) -> int:
    """Return the partition that Kafka's default partitioner gives this key."""
    return (murmur2(key) & _POSITIVE) % partitions


class Partitioner:
    """Places records one after the other."""

    def __init__(self, partitions: int, first: int = 0) -> None:
        self._partitions = partitions
        self._sticky = first % partitions

    def place(self, key: bytes | None) -> int:
        return self._sticky if key is None else partition_of_key(key, self._partitions)

    def batch_closed(self, partition: int) -> None:
        """Tell that a partition's batch is full or sent: records without a key go on to the next one."""
        if partition == self._sticky:
            self._sticky = (self._sticky + 1) % self._partitions
