"""Batches with invalid records in any codec, and a valid checksum."""

from dray.records import Codec, Record, compress, encode_batch
from tests.oracle.batches import TIME_MS, batch, patched, with_payload

VALID = batch(b"one", b"two")
FAR_MS = 4_102_444_800_000
"""A timestamp too far in the future for any broker."""
SMALL = 2000
"""The maximum batch size of the topics here."""
PACKED = tuple(codec for codec in Codec if codec is not Codec.NONE)

_DELTA_AT = 3
_KEY_LENGTH_AT = 4
"""Positions in a record of these batches, whose preceding fields take a byte each."""


def packed(plain: bytes, codec: Codec) -> bytes:
    """Compress the records of a batch, whether they are valid or not."""
    if codec is Codec.NONE:
        return plain
    return with_payload(patched(plain, attributes=codec), bytes(compress(codec, plain[61:])))


def counted(plain: bytes, count: int) -> bytes:
    """Return the batch with another number of records in its header."""
    return patched(plain, record_count=count, last_offset_delta=count - 1)


def many(count: int) -> bytes:
    return batch(*[b"v"] * count)


def exactly(size: int) -> bytes:
    """Return a batch of that many bytes."""
    about = batch(b"x" * (size - 100))
    return batch(b"x" * (size - 100 + size - len(about)))


def with_second_delta(delta: int) -> bytes:
    """Return the valid batch with another offset delta in its second record."""
    payload = bytearray(VALID[61:])
    second = payload[0] // 2 + 1
    payload[second + _DELTA_AT] = 2 * delta
    return with_payload(VALID, bytes(payload))


def with_key_length(varint: int) -> bytes:
    """Return the valid batch with another length of its first key."""
    payload = bytearray(VALID[61:])
    payload[_KEY_LENGTH_AT] = varint
    return with_payload(VALID, bytes(payload))


def with_leader_epoch(epoch: int) -> bytes:
    """Set the leader epoch, which like the base offset is outside the checksum."""
    return VALID[:12] + epoch.to_bytes(4, "big", signed=True) + VALID[16:]


def timed(*times_ms: int, max_timestamp: int) -> bytes:
    """Return a batch of records with these timestamps, and a maxTimestamp that may be wrong."""
    records = [Record(number, at, b"k", b"v") for number, at in enumerate(times_ms)]
    return patched(encode_batch(records), max_timestamp=max_timestamp)


def hiding(time_ms: int, *, after: int = 1) -> bytes:
    """Return a batch whose last record has a later timestamp than the maxTimestamp of the header."""
    return timed(*[TIME_MS] * after, time_ms, max_timestamp=TIME_MS)
