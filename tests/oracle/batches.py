"""Record batches, valid and invalid, for requests that no client would send.

`batch` makes a valid one; `patched` changes bytes of its header and by default updates the checksum, so that
the tested error is the only one.
"""

from struct import Struct
from typing import Final

from dray.records import Record, crc32c, encode_batch

TIME_MS: Final = 1_700_000_000_000
"""Records are all of this age, so that two brokers store the same bytes."""

_CRC_AT: Final = 17
_CRC: Final = Struct(">I")
_FIELDS: Final = {
    "base_offset": (0, ">q"),
    "batch_length": (8, ">i"),
    "magic": (16, ">b"),
    "crc": (17, ">I"),
    "attributes": (21, ">h"),
    "last_offset_delta": (23, ">i"),
    "base_timestamp": (27, ">q"),
    "max_timestamp": (35, ">q"),
    "producer_id": (43, ">q"),
    "producer_epoch": (51, ">h"),
    "base_sequence": (53, ">i"),
    "record_count": (57, ">i"),
}


def batch(
    *values: bytes | None,
    key: bytes | None = b"k",
    time_ms: int = TIME_MS,
    codec: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
    transactional: bool = False,
    control: bool = False,
) -> bytes:
    """Return a batch of records a millisecond apart; `producer` is id, epoch and first sequence."""
    records = [
        Record(index, time_ms + index, key, value, (("h", b"v"),))
        for index, value in enumerate(values or (b"value",))
    ]
    producer_id, epoch, sequence = producer
    return encode_batch(
        records,
        codec=codec,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
        control=control,
    )


def patched(valid: bytes, *, keep_crc: bool = False, **fields: int) -> bytes:
    """Return the batch with header fields overwritten."""
    changed = bytearray(valid)
    for name, value in fields.items():
        at, kind = _FIELDS[name]
        Struct(kind).pack_into(changed, at, value)
    return bytes(changed) if keep_crc else resealed(bytes(changed))


def resealed(changed: bytes) -> bytes:
    """Return the batch with an updated checksum."""
    sealed = bytearray(changed)
    _CRC.pack_into(sealed, _CRC_AT, crc32c(memoryview(changed)[21:]))
    return bytes(sealed)


def with_payload(valid: bytes, payload: bytes) -> bytes:
    """Return the batch with its records replaced by other bytes."""
    return patched(valid[:61] + payload, batch_length=49 + len(payload))
