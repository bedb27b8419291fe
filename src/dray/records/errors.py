"""Errors of record bytes, sorted by what the sender must do.

    RecordError
    ├── CorruptBatch        damaged in transit: send the same bytes again
    ├── BatchTooLarge       split it, or raise the topic's limit
    ├── UnsupportedCodec    use another codec
    ├── InvalidTimestamp    fix the clock or the topic's limits; `faults` names the records
    └── InvalidBatch        fix the producer; `faults` names the records where Kafka does

Each class has Kafka's error code for the fault, so that `api` needs no second table. `faults` becomes
RecordErrors in a Produce response.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar


class ErrorCode(IntEnum):
    """Kafka's error codes for faults of record bytes alone."""

    CORRUPT_MESSAGE = 2
    MESSAGE_TOO_LARGE = 10
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_COMPRESSION_TYPE = 76
    INVALID_RECORD = 87


@dataclass(frozen=True, slots=True)
class RecordFault:
    """The fault of one record; `index` counts from 0 within the batch."""

    index: int
    message: str


class RecordError(Exception):
    """Record bytes that cannot be accepted."""

    code: ClassVar[ErrorCode]

    def __init__(self, message: str, faults: Sequence[RecordFault] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.faults = tuple(faults)


class CorruptBatch(RecordError):
    """The bytes are not those that were sent: too short, or of another checksum."""

    code = ErrorCode.CORRUPT_MESSAGE


class BatchTooLarge(RecordError):
    """More bytes than allowed, as sent or once decompressed."""

    code = ErrorCode.MESSAGE_TOO_LARGE


class UnsupportedCodec(RecordError):
    """A codec that is unknown, or not allowed in this version of Produce."""

    code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


class InvalidTimestamp(RecordError):
    """A timestamp too far from now, or of a type that only a broker may set."""

    code = ErrorCode.INVALID_TIMESTAMP


class InvalidBatch(RecordError):
    """Bytes that arrived intact and break a rule of the record format."""

    code = ErrorCode.INVALID_RECORD
