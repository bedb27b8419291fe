"""What can be wrong with record bytes, sorted by what the sender must do.

    RecordError
    ├── CorruptBatch        damaged on the way: send the same bytes again
    ├── BatchTooLarge       split it, or raise the topic's limit
    ├── UnsupportedCodec    use another codec
    ├── InvalidTimestamp    fix the clock or the topic's limits; `faults` names the records
    └── InvalidBatch        fix the program that made it; `faults` names the records where Kafka would

Each class carries the number that Kafka's protocol gives this fault, so that a room above can answer without
a second table. `faults` becomes RecordErrors in a Produce response.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar


class ErrorCode(IntEnum):
    """The Kafka error codes that record bytes alone can earn."""

    CORRUPT_MESSAGE = 2
    MESSAGE_TOO_LARGE = 10
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_COMPRESSION_TYPE = 76
    INVALID_RECORD = 87


@dataclass(frozen=True, slots=True)
class RecordFault:
    """What is wrong with one record; `index` counts from 0 within the batch."""

    index: int
    message: str


class RecordError(Exception):
    """Record bytes that cannot be taken as they are."""

    code: ClassVar[ErrorCode]

    def __init__(self, message: str, faults: Sequence[RecordFault] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.faults = tuple(faults)


class CorruptBatch(RecordError):
    """The bytes are not what the sender meant: too short, or the checksum does not hold."""

    code = ErrorCode.CORRUPT_MESSAGE


class BatchTooLarge(RecordError):
    """More bytes than allowed, as sent or once decompressed."""

    code = ErrorCode.MESSAGE_TOO_LARGE


class UnsupportedCodec(RecordError):
    """Compressed in a way that is not known, or not allowed in this version of Produce."""

    code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


class InvalidTimestamp(RecordError):
    """A timestamp too far from now, or of a type that only a broker may set."""

    code = ErrorCode.INVALID_TIMESTAMP


class InvalidBatch(RecordError):
    """Well-delivered bytes that break a rule of the record format."""

    code = ErrorCode.INVALID_RECORD
