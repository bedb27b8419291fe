"""Rules of a topic for batches, and the timestamps that a broker sets by them.

On a topic with log-append time the broker sets attribute bit 3 and maxTimestamp. On one with create time it
clears a bit 3 that the producer set, and corrects a maxTimestamp that is not the records' latest time. Both
fields are covered by the CRC, which is computed again over the payload in place, without copying it.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from dray.records.header import (
    HEADER_BYTES,
    LOG_APPEND_BIT,
    NO_TIMESTAMP,
    BatchHeader,
    TimestampType,
    checksummed,
)

LONG_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class BatchRules:
    """What a topic, and the version of a request, allow in a batch. The defaults are Kafka's."""

    max_message_bytes: int = 1_048_588
    timestamp_type: TimestampType = TimestampType.CREATE
    timestamp_before_max_ms: int = LONG_MAX
    timestamp_after_max_ms: int = 3_600_000
    compacted: bool = False
    """Whether every record needs a key."""
    zstd_allowed: bool = True
    """False for Produce below version 7."""


def create_time_fault(timestamp: int, rules: BatchRules, now_ms: int) -> str | None:
    """Return what is wrong with a producer's timestamp; -1 means none and is always allowed."""
    if timestamp == NO_TIMESTAMP:
        return None
    age_ms = now_ms - timestamp
    if age_ms <= rules.timestamp_before_max_ms and -age_ms <= rules.timestamp_after_max_ms:
        return None
    return (
        f"timestamp {timestamp} is out of range: at most {rules.timestamp_before_max_ms} ms before "
        f"and {rules.timestamp_after_max_ms} ms after {now_ms}"
    )


def has_doubtful_times(header: BatchHeader, rules: BatchRules, now_ms: int) -> bool:
    """Return whether the header's times may be wrong or out of range, so that all records must be read.

    In the batches of nearly all clients the base is the first record's time, and the maximum the latest one.
    Sarama up to 1.45.0 leaves the maximum at -1; librdkafka writes -1 and 0 for records without a timestamp.
    """
    first, latest = header.base_timestamp, header.max_timestamp
    return not header.attributes & LOG_APPEND_BIT and not (
        0 <= first <= latest
        and now_ms - first <= rules.timestamp_before_max_ms
        and latest - now_ms <= rules.timestamp_after_max_ms
    )


class Stamped(NamedTuple):
    """A batch in two pieces, 61 new bytes and the payload as a view; `header` reads the new bytes."""

    header: BatchHeader
    head: bytes
    payload: memoryview


def log_append_time(batch: memoryview, header: BatchHeader, now_ms: int) -> Stamped:
    """Return the batch with every record's time set to `now_ms`."""
    return _stamped(batch, header, header.attributes | LOG_APPEND_BIT, now_ms)


def create_time(batch: memoryview, header: BatchHeader, max_timestamp: int) -> Stamped:
    """Return the batch with its records' own times in force; `max_timestamp` is the latest of them."""
    return _stamped(batch, header, header.attributes & ~LOG_APPEND_BIT, max_timestamp)


def _stamped(batch: memoryview, header: BatchHeader, attributes: int, max_timestamp: int) -> Stamped:
    payload = batch[HEADER_BYTES:]
    wanted = header._replace(attributes=attributes, max_timestamp=max_timestamp)
    sealed, head = checksummed(wanted, payload)
    return Stamped(sealed, head, payload)
