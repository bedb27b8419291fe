"""Errors of record bytes, sorted by what the sender must do.

    RecordError
    ├── CorruptBatch        damaged in transit: send the same bytes again
    ├── BatchTooLarge       split it, or raise the topic's limit
    ├── UnsupportedCodec    use another codec
    ├── InvalidTimestamp    fix the clock or the topic's limits; `faults` names the records
    └── InvalidBatch        fix the producer; `faults` names the records where Kafka does

`dray.api.errors` maps each class to Kafka's error code; `faults` becomes RecordErrors in a Produce response.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecordFault:
    """The fault of one record; `index` counts from 0 within the batch."""

    index: int
    message: str


class RecordError(Exception):
    """Record bytes that cannot be accepted."""

    def __init__(self, message: str, faults: Sequence[RecordFault] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.faults = tuple(faults)


class CorruptBatch(RecordError):
    """The bytes are not those that were sent: too short, or of another checksum."""


class BatchTooLarge(RecordError):
    """More bytes than allowed, as sent or once decompressed."""


class UnsupportedCodec(RecordError):
    """A codec that is unknown, or not allowed in this version of Produce."""


class InvalidTimestamp(RecordError):
    """A timestamp too far from now, or of a type that only a broker may set."""


class InvalidBatch(RecordError):
    """Bytes that arrived intact and break a rule of the record format."""
