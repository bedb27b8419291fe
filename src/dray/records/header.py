"""Batch headers (version 2): the 61 bytes in front of every record batch, read where they are.

    0   8  baseOffset              27  8  baseTimestamp
    8   4  batchLength             35  8  maxTimestamp
    12  4  partitionLeaderEpoch    43  8  producerId
    16  1  magic                   51  2  producerEpoch
    17  4  crc of bytes 21…        53  4  baseSequence
    21  2  attributes              57  4  recordCount
    23  4  lastOffsetDelta         61  …  records, compressed as one block

Every produce and fetch reads headers: one precompiled `Struct`, one tuple, nothing copied. `iter_batches`
cuts a run of batches into views. Nothing is validated here; `validate` does that. No other module spells out
a position in the header.
"""

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from typing_extensions import Buffer

from dray.records.errors import CorruptBatch
from dray.records.primitives import crc32c

LAYOUT: Final = Struct(">qiibIhiqqqhii")
HEADER_BYTES: Final = LAYOUT.size
BASE_OFFSET: Final = Struct(">q")
LENGTH: Final = Struct(">8xi")
"""Reads batchLength from the beginning of a batch."""
LENGTH_END: Final = 12
"""Bytes up to and with batchLength, which counts what follows it."""
BROKER_FIELDS: Final = Struct(">qii")
"""Base offset, length and leader epoch: outside the CRC, so that a broker may set them."""
_CRC: Final = Struct(">17xI")
OFFSETS_TO_SEQUENCE: Final = Struct(">23xiqqqhi")
"""Reads lastOffsetDelta, both timestamps, and the producer's id, epoch and sequence."""
MAGIC_AT: Final = 16
MAGIC_V2: Final = 2
CRC_START: Final = 21
"""The CRC covers everything from here on."""
ATTRIBUTES_LOW_AT: Final = 22
"""The byte of the attributes that holds all assigned bits."""

NO_TIMESTAMP: Final = -1
NO_PRODUCER: Final = -1
NO_SEQUENCE: Final = -1

CODEC_MASK: Final = 0x07
LOG_APPEND_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20


class TimestampType(IntEnum):
    """The origin of timestamps: the producer, record by record, or the broker, for the whole batch."""

    CREATE = 0
    LOG_APPEND = 1


class BatchHeader(NamedTuple):
    """The fields of a batch header, in their order."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        """Size of the whole batch, header included."""
        return self.batch_length + LENGTH_END

    @property
    def codec(self) -> int:
        """The codec number; 5 to 7 are unassigned."""
        return self.attributes & CODEC_MASK

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.LOG_APPEND if self.attributes & LOG_APPEND_BIT else TimestampType.CREATE

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_BIT != 0

    @property
    def has_producer(self) -> bool:
        return self.producer_id > NO_PRODUCER

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta


def parse_header(batches: memoryview, at: int = 0) -> BatchHeader:
    """Read the header that starts at byte `at`."""
    if at + HEADER_BYTES > len(batches):
        raise CorruptBatch(
            f"expected a {HEADER_BYTES}-byte batch header at byte {at}, found {len(batches) - at} bytes"
        )
    return BatchHeader._make(LAYOUT.unpack_from(batches, at))


def claimed_bytes(batch: memoryview) -> int:
    """Return the size that a batch claims in its first 12 bytes."""
    return int(LENGTH.unpack_from(batch)[0]) + LENGTH_END


def is_intact(batch: memoryview) -> bool:
    """Return whether these bytes are one batch of the current format whose checksum holds.

    Base offset and leader epoch are not covered by it: a batch is served with other ones.
    """
    if len(batch) < HEADER_BYTES or claimed_bytes(batch) != len(batch) or batch[MAGIC_AT] != MAGIC_V2:
        return False
    return bool(_CRC.unpack_from(batch)[0] == crc32c(batch[CRC_START:]))


def checksummed(header: BatchHeader, payload: Buffer) -> tuple[BatchHeader, bytes]:
    """Return the header with the CRC of the batch that it makes with this payload, and its bytes."""
    crc = crc32c(payload, crc32c(LAYOUT.pack(*header)[CRC_START:]))
    valid = header._replace(crc=crc)
    return valid, LAYOUT.pack(*valid)


def iter_batches(
    batches: memoryview, *, partial_tail: bool = False
) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Yield each batch with its header.

    A fetch response of Apache Kafka may end inside a batch: with `partial_tail` that part is left out.
    """
    position = 0
    while position < len(batches):
        if partial_tail and _is_partial(batches, position):
            return
        header, end = _batch_at(batches, position)
        yield header, batches[position:end]
        position = end


def _batch_at(batches: memoryview, position: int) -> tuple[BatchHeader, int]:
    header = parse_header(batches, position)
    end = position + header.size_bytes
    size, left = header.size_bytes, len(batches) - position
    if size < HEADER_BYTES:
        raise CorruptBatch(f"a batch at byte {position} has length {size}; the minimum is {HEADER_BYTES}")
    if size > left:
        raise CorruptBatch(f"a batch at byte {position} has length {size}, but only {left} bytes remain")
    return header, end


def _is_partial(batches: memoryview, position: int) -> bool:
    left = len(batches) - position
    return left < HEADER_BYTES or parse_header(batches, position).size_bytes > left
