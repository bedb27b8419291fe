"""WAL objects for the tests of the format, and ways to corrupt them."""

from struct import pack_into

from crc32c import crc32c

from dray.formats import wal_v1
from dray.ids import MetaDomain, StreamId, WalId

WAL_ID = WalId(bytes(range(0x10, 0x20)))
DOMAIN = MetaDomain(3)
CREATED_AT_MS = 1_700_000_000_000
NAME = "wal/test.wo"


def draft(stream: int, *batches: bytes, record_count: int = 1) -> wal_v1.ChunkDraft:
    return wal_v1.ChunkDraft(
        stream=StreamId(stream),
        batches=batches,
        record_count=record_count,
        min_timestamp_ms=CREATED_AT_MS - 10 * (stream % 1000),
        max_timestamp_ms=CREATED_AT_MS + stream % 1000,
    )


def joined(encoded: wal_v1.EncodedWal) -> bytes:
    return b"".join(encoded.parts)


def encoded(*drafts: wal_v1.ChunkDraft) -> wal_v1.EncodedWal:
    return wal_v1.encode(WAL_ID, DOMAIN, CREATED_AT_MS, drafts)


def small_object() -> bytes:
    """Stream 5 with batches `one` and `three`, stream 9 with batch `two`."""
    return joined(encoded(draft(5, b"one", b"three", record_count=4), draft(9, b"two")))


def with_number(whole: bytes, at: int, code: str, value: int) -> bytes:
    """Overwrite one number of an object and make its CRC fit: only the check of that number can fail."""
    out = bytearray(whole)
    pack_into(code, out, at, value)
    return sealed(bytes(out[:-4]))


def sealed(body: bytes) -> bytes:
    """Add the footer."""
    return body + crc32c(body).to_bytes(4, "big")
