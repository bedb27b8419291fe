"""Batches with a fault inside their records, in any codec, with a checksum that is right."""

from dray.records import Codec, compress
from tests.oracle.batches import TIME_MS, batch, patched, with_payload

SOUND = batch(b"one", b"two")
FAR_MS = 4_102_444_800_000
"""A time so far ahead that no broker takes it."""
SMALL = 2000
"""What topics here take in one batch."""
PACKED = tuple(codec for codec in Codec if codec is not Codec.NONE)

_DELTA_AT = 3
_KEY_LENGTH_AT = 4
"""In a record of these batches, whose fields before it take a byte each."""


def packed(plain: bytes, codec: Codec) -> bytes:
    """Return an uncompressed batch with its records as they are, compressed."""
    if codec is Codec.NONE:
        return plain
    return with_payload(patched(plain, attributes=codec), bytes(compress(codec, plain[61:])))


def counted(plain: bytes, count: int) -> bytes:
    """Return the batch with another number of records in its header."""
    return patched(plain, record_count=count, last_offset_delta=count - 1)


def many(count: int) -> bytes:
    return batch(*[b"v"] * count)


def exactly(size: int) -> bytes:
    """One batch of that many bytes."""
    about = batch(b"x" * (size - 100))
    return batch(b"x" * (size - 100 + size - len(about)))


def with_second_delta(delta: int) -> bytes:
    """Return the sound batch with another offset delta for its second record."""
    payload = bytearray(SOUND[61:])
    second = payload[0] // 2 + 1
    payload[second + _DELTA_AT] = 2 * delta
    return with_payload(SOUND, bytes(payload))


def with_key_length(varint: int) -> bytes:
    """Return the sound batch with another length before its first key."""
    payload = bytearray(SOUND[61:])
    payload[_KEY_LENGTH_AT] = varint
    return with_payload(SOUND, bytes(payload))


def with_leader_epoch(epoch: int) -> bytes:
    """Outside the checksum, like the base offset."""
    return SOUND[:12] + epoch.to_bytes(4, "big", signed=True) + SOUND[16:]


def hiding(time_ms: int, *, behind: int = TIME_MS) -> bytes:
    """A record of one time in a batch whose header tells another."""
    return patched(batch(b"a", time_ms=time_ms), max_timestamp=behind)
