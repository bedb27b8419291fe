"""Validation of a batch in a Produce request by its header and checksum.

The checks run in Apache Kafka's order, because the order decides which error a client gets: first those of
ProduceRequest.validateRecords, then of UnifiedLog.analyzeAndValidateRecords, then of LogValidator. The
records and their timestamps are left to `shallow_validate`. One deliberate difference: an unassigned codec
number is UNSUPPORTED_COMPRESSION_TYPE, where Kafka fails with UNKNOWN_SERVER_ERROR.

Bytes after the batch that are not another whole batch are ignored, as in Kafka.
"""

from typing import Final, NamedTuple

from typing_extensions import Buffer

from dray.records.codecs import Codec
from dray.records.errors import (
    BatchTooLarge,
    CorruptBatch,
    InvalidBatch,
    InvalidTimestamp,
    UnsupportedCodec,
)
from dray.records.header import (
    ATTRIBUTES_LOW_AT,
    BASE_OFFSET,
    CODEC_MASK,
    CONTROL_BIT,
    CRC_START,
    HEADER_BYTES,
    LENGTH,
    LENGTH_END,
    LOG_APPEND_BIT,
    MAGIC_AT,
    MAGIC_V2,
    NO_TIMESTAMP,
    BatchHeader,
    TimestampType,
    parse_header,
)
from dray.records.primitives import crc32c
from dray.records.rules import BatchRules, create_time, create_time_fault, log_append_time

_BATCH_LENGTH_MIN: Final = 14
"""The size of a message of the oldest format, which Kafka still requires."""


class ValidBatch(NamedTuple):
    """A batch that may be stored.

    `pieces` are its bytes: the batch as received, or, if its timestamps or codec were changed, 61 new bytes
    and the rest. `header` is that of the pieces. `append_time_ms` is -1 with create time, as in the Produce
    response.
    """

    header: BatchHeader
    pieces: tuple[Buffer, ...]
    append_time_ms: int

    @property
    def buffer(self) -> Buffer:
        """The batch as one buffer; copied only if it was changed."""
        return self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)

    @property
    def payload(self) -> memoryview:
        """The bytes after the header; never copied."""
        last = memoryview(self.pieces[-1])
        return last[HEADER_BYTES:] if len(self.pieces) == 1 else last


def validate(records: memoryview, rules: BatchRules, now_ms: int) -> ValidBatch:
    """Return the one batch in `records`, or raise a `RecordError` with Kafka's code."""
    batch = _only_batch(records, rules)
    header = _valid_header(batch, rules)
    _check_counts(header)
    if header.attributes & CONTROL_BIT:
        raise InvalidBatch("clients may not write control batches")
    if header.base_sequence < 0 and header.has_producer:
        raise InvalidBatch(
            f"producer {header.producer_id} sent sequence {header.base_sequence}; it must not be negative"
        )
    return _timed(batch, header, rules, now_ms)


def _only_batch(records: memoryview, rules: BatchRules) -> memoryview:
    """The checks of ProduceRequest.validateRecords: one whole batch of the current format."""
    size = _whole_batch_bytes(records)
    if size is None:
        raise InvalidBatch(f"no whole record batch in {len(records)} bytes")
    if records[MAGIC_AT] != MAGIC_V2:
        raise InvalidBatch(f"the batch is of format {records[MAGIC_AT]}; only format {MAGIC_V2} is accepted")
    if not rules.zstd_allowed and records[ATTRIBUTES_LOW_AT] & CODEC_MASK == Codec.ZSTD:
        raise UnsupportedCodec("zstd needs Produce version 7 or later")
    if size == len(records):
        return records
    if _whole_batch_bytes(records[size:]) is not None:
        raise InvalidBatch("more than one record batch for a partition")
    return records[:size]


def _whole_batch_bytes(records: memoryview) -> int | None:
    """Return the size of the batch at the start; None if it is incomplete."""
    left = len(records)
    if left < LENGTH_END:
        return None
    batch_length: int = LENGTH.unpack_from(records)[0]
    if batch_length < _BATCH_LENGTH_MIN:
        raise CorruptBatch(f"batch length {batch_length} is less than {_BATCH_LENGTH_MIN}")
    if left <= MAGIC_AT:
        return None
    if records[MAGIC_AT] > MAGIC_V2:
        raise CorruptBatch(f"unknown magic {records[MAGIC_AT]}; expected 0 to {MAGIC_V2}")
    size = batch_length + LENGTH_END
    return size if size <= left else None


def _valid_header(batch: memoryview, rules: BatchRules) -> BatchHeader:
    """The checks of UnifiedLog.analyzeAndValidateRecords: base offset, size, checksum and codec."""
    (base_offset,) = BASE_OFFSET.unpack_from(batch)
    if base_offset:
        raise InvalidBatch(f"base offset {base_offset} was sent; it must be 0")
    if len(batch) > rules.max_message_bytes:
        raise BatchTooLarge(f"the batch has {len(batch)} bytes, the topic allows {rules.max_message_bytes}")
    header = parse_header(batch)
    actual = crc32c(batch[CRC_START:])
    if header.crc != actual:
        raise CorruptBatch(f"CRC mismatch: stored {header.crc:08x}, computed {actual:08x}")
    if header.attributes & CODEC_MASK > Codec.ZSTD:
        raise UnsupportedCodec(f"unknown codec {header.codec}; expected 0 to {Codec.ZSTD}")
    return header


def _check_counts(header: BatchHeader) -> None:
    if header.last_offset_delta < 0:
        raise InvalidBatch(f"last offset delta {header.last_offset_delta} is negative")
    if header.record_count <= 0:
        raise InvalidBatch(f"record count {header.record_count}; there must be at least one record")
    if header.last_offset_delta + 1 != header.record_count:
        raise InvalidBatch(
            f"{header.record_count} records cannot have last offset delta {header.last_offset_delta}"
        )


def _timed(batch: memoryview, header: BatchHeader, rules: BatchRules, now_ms: int) -> ValidBatch:
    """Set the timestamps by the topic's type; a type that the client set is validated first."""
    stamped_by_client = header.attributes & LOG_APPEND_BIT
    if rules.timestamp_type is TimestampType.LOG_APPEND:
        if stamped_by_client:
            raise InvalidTimestamp("a producer may not set the timestamp type to log-append time")
        sealed, head, payload = log_append_time(batch, header, now_ms)
        return ValidBatch(sealed, (head, payload), now_ms)
    if not stamped_by_client:
        return ValidBatch(header, (batch,), NO_TIMESTAMP)
    if header.max_timestamp == NO_TIMESTAMP:
        raise InvalidTimestamp("a producer may not set the timestamp type to log-append time")
    if fault := create_time_fault(header.max_timestamp, rules, now_ms):
        raise InvalidTimestamp(fault)
    sealed, head, payload = create_time(batch, header, header.max_timestamp)
    return ValidBatch(sealed, (head, payload), NO_TIMESTAMP)
