"""Batches for the tests of this room, and ways to spoil them."""

from collections.abc import Mapping
from struct import pack_into
from types import MappingProxyType
from typing import Final

from dray.records import HEADER_BYTES, Record, TimestampType, crc32c, encode_batch

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
    """Overwrite header fields; the CRC is made to fit unless it is given."""
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
    """Put another payload behind the header; length and CRC are made to fit."""
    out = batch[:HEADER_BYTES] + payload
    return with_fields(out, batch_length=len(out) - 12)


def crc_holds(batch: bytes) -> bool:
    return int.from_bytes(batch[17:21], "big") == crc32c(batch[21:])
