"""What a topic, and the version of a request, allow in a batch."""

from dataclasses import dataclass
from typing import Final

from dray.records.header import NO_TIMESTAMP, TimestampType

LONG_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class BatchRules:
    """The defaults are Kafka's."""

    max_message_bytes: int = 1_048_588
    timestamp_type: TimestampType = TimestampType.CREATE
    timestamp_before_max_ms: int = LONG_MAX
    timestamp_after_max_ms: int = 3_600_000
    compacted: bool = False
    """Whether every record needs a key."""
    zstd_allowed: bool = True
    """False for Produce below version 7."""


def create_time_fault(timestamp: int, rules: BatchRules, now_ms: int) -> str | None:
    """Say what is wrong with a producer's timestamp; -1 stands for none and is always allowed."""
    if timestamp == NO_TIMESTAMP:
        return None
    age_ms = now_ms - timestamp
    if age_ms <= rules.timestamp_before_max_ms and -age_ms <= rules.timestamp_after_max_ms:
        return None
    return (
        f"timestamp {timestamp} is out of range: at most {rules.timestamp_before_max_ms} ms before "
        f"and {rules.timestamp_after_max_ms} ms after {now_ms}"
    )
