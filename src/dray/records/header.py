"""The 61 bytes in front of every record batch (version 2), read where they lie.

    0   8  baseOffset              27  8  baseTimestamp
    8   4  batchLength             35  8  maxTimestamp
    12  4  partitionLeaderEpoch    43  8  producerId
    16  1  magic                   51  2  producerEpoch
    17  4  crc of bytes 21…        53  4  baseSequence
    21  2  attributes              57  4  recordCount
    23  4  lastOffsetDelta         61  …  records, compressed as one block

Reading a header is on the way of every produce and fetch: one precompiled `Struct`, one tuple, nothing
copied. Nothing is judged here; `validate` does that. No other module spells out where something lies.
"""

from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from typing_extensions import Buffer

from dray.records.checksum import crc32c
from dray.records.errors import CorruptBatch

LAYOUT: Final = Struct(">qiibIhiqqqhii")
HEADER_BYTES: Final = LAYOUT.size
BASE_OFFSET: Final = Struct(">q")
LENGTH: Final = Struct(">8xi")
"""Reads batchLength from the beginning of a batch."""
LENGTH_END: Final = 12
"""Bytes up to and with batchLength, which counts what follows it."""
BROKERS_OWN: Final = Struct(">qii")
"""Base offset, length and leader epoch: not covered by the CRC, so that a broker may set them."""
MAGIC_AT: Final = 16
MAGIC_V2: Final = 2
CRC_START: Final = 21
"""The CRC covers everything from here on."""
ATTRIBUTES_LOW_AT: Final = 22
"""The byte of the attributes that has all bits in use."""

NO_TIMESTAMP: Final = -1
NO_PRODUCER: Final = -1
NO_SEQUENCE: Final = -1
SEQUENCE_MAX: Final = 2**31 - 1

CODEC_MASK: Final = 0x07
LOG_APPEND_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20


class TimestampType(IntEnum):
    """Who set the timestamps: the producer, record by record, or the broker, for the whole batch."""

    CREATE = 0
    LOG_APPEND = 1


class BatchHeader(NamedTuple):
    """A batch header as it stands in the bytes."""

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
        """The whole batch, with its header."""
        return self.batch_length + LENGTH_END

    @property
    def codec(self) -> int:
        """The codec's number; 5 to 7 are nobody's."""
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


def sequence_after(sequence: int, steps: int) -> int:
    """Count `steps` sequence numbers on, as Kafka does."""
    return (sequence + steps) & SEQUENCE_MAX


def parse_header(batches: memoryview, at: int = 0) -> BatchHeader:
    """Read the header that starts at byte `at`."""
    if at + HEADER_BYTES > len(batches):
        raise CorruptBatch(
            f"a batch header takes {HEADER_BYTES} bytes, there are {len(batches) - at} at byte {at}"
        )
    return BatchHeader._make(LAYOUT.unpack_from(batches, at))


def claimed_bytes(batch: memoryview) -> int:
    """Return how large a batch says it is, by its first 12 bytes."""
    return int(LENGTH.unpack_from(batch)[0]) + LENGTH_END


def checksummed(header: BatchHeader, payload: Buffer) -> tuple[BatchHeader, bytes]:
    """Return the header with the CRC that it has in front of this payload, and its bytes."""
    crc = crc32c(payload, crc32c(LAYOUT.pack(*header)[CRC_START:]))
    sound = header._replace(crc=crc)
    return sound, LAYOUT.pack(*sound)
