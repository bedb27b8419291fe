"""The 61 bytes in front of every record batch (version 2), read where they lie.

    0   8  baseOffset              27  8  baseTimestamp
    8   4  batchLength             35  8  maxTimestamp
    12  4  partitionLeaderEpoch    43  8  producerId
    16  1  magic                   51  2  producerEpoch
    17  4  crc of bytes 21…        53  4  baseSequence
    21  2  attributes              57  4  recordCount
    23  4  lastOffsetDelta         61  …  records, compressed as one block

Reading a header is on the way of every produce and fetch: one precompiled `Struct`, one tuple, nothing
copied. Nothing is judged here; `validate` does that.
"""

from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from dray.records.errors import CorruptBatch

HEADER_BYTES: Final = 61
LENGTH_END: Final = 12
"""Bytes up to and with batchLength, which counts what follows it."""
EPOCH_END: Final = 16
"""Bytes 0…15 belong to the broker; the CRC does not cover them."""
CRC_START: Final = 21
"""The CRC covers everything from here on."""
MAGIC_V2: Final = 2

NO_TIMESTAMP: Final = -1
NO_PRODUCER: Final = -1
NO_SEQUENCE: Final = -1
SEQUENCE_MAX: Final = 2**31 - 1

CODEC_MASK: Final = 0x07
LOG_APPEND_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20

LAYOUT: Final = Struct(">qiibIhiqqqhii")


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

    @property
    def last_sequence(self) -> int:
        """The last record's sequence number: after 2147483647 comes 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return sequence_after(self.base_sequence, self.last_offset_delta)

    @property
    def first_timestamp(self) -> int:
        """The first record's timestamp. Under CREATE the others may be lower: it is no minimum."""
        return self.max_timestamp if self.attributes & LOG_APPEND_BIT else self.base_timestamp


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
