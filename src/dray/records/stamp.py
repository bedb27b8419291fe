"""Setting a batch's timestamps in the broker's name.

On a topic with log-append time the broker sets attribute bit 3 and maxTimestamp; on one with create time it
clears a bit 3 that a producer had no business setting. Both lie under the CRC, so that is computed anew:
over the payload where it lies, without copying it.
"""

from struct import Struct
from typing import Final, NamedTuple

from dray.records.checksum import crc32c
from dray.records.header import CRC_START, HEADER_BYTES, LOG_APPEND_BIT, BatchHeader, parse_header

_CRC: Final = Struct(">I")
_CRC_AT: Final = 17
_ATTRIBUTES: Final = Struct(">h")
_ATTRIBUTES_AT: Final = 21
_MAX_TIMESTAMP: Final = Struct(">q")
_MAX_TIMESTAMP_AT: Final = 35


class Stamped(NamedTuple):
    """A batch in two pieces, 61 new bytes and the payload as a view; `header` reads the new bytes."""

    header: BatchHeader
    head: bytes
    payload: memoryview


def log_append_time(batch: memoryview, header: BatchHeader, now_ms: int) -> Stamped:
    """Return the batch with every record's time set to `now_ms`."""
    return _stamped(batch, header.attributes | LOG_APPEND_BIT, now_ms)


def create_time(batch: memoryview, header: BatchHeader, max_timestamp: int) -> Stamped:
    """Return the batch with its records' own times in force; `max_timestamp` is their highest."""
    return _stamped(batch, header.attributes & ~LOG_APPEND_BIT, max_timestamp)


def _stamped(batch: memoryview, attributes: int, max_timestamp: int) -> Stamped:
    head, payload = bytearray(batch[:HEADER_BYTES]), batch[HEADER_BYTES:]
    _ATTRIBUTES.pack_into(head, _ATTRIBUTES_AT, attributes)
    _MAX_TIMESTAMP.pack_into(head, _MAX_TIMESTAMP_AT, max_timestamp)
    _CRC.pack_into(head, _CRC_AT, crc32c(payload, crc32c(head[CRC_START:])))
    fixed = bytes(head)
    return Stamped(parse_header(memoryview(fixed)), fixed, payload)
