"""Batches for the tests of records, and ways to corrupt them."""

from collections.abc import Mapping
from struct import pack_into
from types import MappingProxyType
from typing import Final

from dray.records import (
    HEADER_BYTES,
    BatchRules,
    Record,
    TimestampType,
    ValidBatch,
    crc32c,
    encode_batch,
    has_doubtful_times,
    shallow_validate,
    validate,
    validate_records,
)

NOW_MS: Final = 1_700_000_000_000

FIELDS: Final[Mapping[str, tuple[int, str]]] = MappingProxyType(
    {
        "base_offset": (0, ">q"),
        "batch_length": (8, ">i"),
        "leader_epoch": (12, ">i"),
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
)


def some_records(count: int = 3, value_bytes: int = 20) -> list[Record]:
    return [
        Record(
            offset, NOW_MS + offset, b"key-%d" % offset, bytes([offset % 256]) * value_bytes, (("h", b"x"),)
        )
        for offset in range(count)
    ]


def a_batch(count: int = 3, *, codec: int = 0, producer_id: int = -1, base_sequence: int = -1) -> bytes:
    return encode_batch(
        some_records(count),
        codec=codec,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=base_sequence,
    )


def stamped_batch(append_time_ms: int) -> bytes:
    return encode_batch(
        some_records(), timestamp_type=TimestampType.LOG_APPEND, append_time_ms=append_time_ms
    )


def with_fields(batch: bytes, **values: int) -> memoryview:
    """Overwrite header fields; recompute the CRC unless it is given."""
    out = bytearray(with_fields_only(batch, **values))
    if "crc" not in values:
        pack_into(">I", out, 17, crc32c(out[21:]))
    return memoryview(bytes(out))


def with_fields_only(batch: bytes, **values: int) -> memoryview:
    """Overwrite header fields and nothing else."""
    out = bytearray(batch)
    for name, value in values.items():
        at, code = FIELDS[name]
        pack_into(code, out, at, value)
    return memoryview(bytes(out))


def with_payload(batch: bytes, payload: bytes) -> memoryview:
    """Replace the payload; recompute length and CRC."""
    out = batch[:HEADER_BYTES] + payload
    return with_fields(out, batch_length=len(out) - 12)


def crc_holds(batch: bytes) -> bool:
    return int.from_bytes(batch[17:21], "big") == crc32c(batch[21:])


def received(batch: bytes | memoryview, rules: BatchRules, now_ms: int) -> ValidBatch:
    """Return a batch as a broker stores it, or raise a `RecordError`, as the produce path does."""
    valid = validate(memoryview(batch), rules, now_ms)
    if rules.compacted or has_doubtful_times(valid.header, rules, now_ms):
        return validate_records(valid, rules, now_ms)
    return shallow_validate(valid, rules, now_ms) or validate_records(valid, rules, now_ms)


def reference_crc32c(data: bytes) -> int:
    """Compute CRC-32C bit by bit: polynomial 0x1EDC6F41, reflected, all ones in and out (RFC 3720, B.4)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
