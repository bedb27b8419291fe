"""Kafka's rules for the records inside a batch.

Plain Python, one record at a time, 6 to 12 µs each. A broker uses it only to name the faults of a batch,
after `shallow_validate` has found one.

Offset deltas that are not 0, 1, 2… are valid: Apache Kafka stores an uncompressed batch with any deltas.
(It fails on a compressed one with UNKNOWN_SERVER_ERROR; here it is stored as well.)
"""

from typing import NamedTuple

from dray.records.errors import InvalidBatch, InvalidTimestamp, RecordFault
from dray.records.header import NO_TIMESTAMP, BatchHeader, TimestampType
from dray.records.primitives import wrapped
from dray.records.raw import RawRecord, read_record
from dray.records.rules import BatchRules, create_time_fault


class PayloadFacts(NamedTuple):
    """The earliest and the latest time of the records; the latest is at least -1, as in Kafka."""

    min_timestamp: int
    max_timestamp: int


class _Finding(NamedTuple):
    fault: RecordFault
    is_timestamp: bool


def check_payload(header: BatchHeader, payload: memoryview, rules: BatchRules, now_ms: int) -> PayloadFacts:
    """Read all records of a decompressed payload; raise a `RecordError` if any breaks a rule.

    A payload that cannot be read fails at once. Faults of single records are collected, and the batch fails
    as a whole.
    """
    findings: list[_Finding] = []
    low, high = 2**63 - 1, NO_TIMESTAMP
    position = 0
    for index in range(header.record_count):
        if position >= len(payload):
            raise InvalidBatch(f"the header counts {header.record_count} records, there are {index}")
        record, position = read_record(payload, position)
        timestamp = record_timestamp(header, record)
        low, high = min(low, timestamp), max(high, timestamp)
        findings += _findings(index, record, timestamp, rules, now_ms)
    if position != len(payload):
        raise InvalidBatch(f"{len(payload) - position} bytes remain after {header.record_count} records")
    _raise_for(findings)
    return PayloadFacts(min(low, high), high)


def record_timestamp(header: BatchHeader, record: RawRecord) -> int:
    """Return the time that a consumer reads; it wraps at 64 bits as in Java."""
    if header.timestamp_type is TimestampType.LOG_APPEND:
        return header.max_timestamp
    return wrapped(header.base_timestamp + record.timestamp_delta)


def _findings(
    index: int, record: RawRecord, timestamp: int, rules: BatchRules, now_ms: int
) -> list[_Finding]:
    # One finding per record, the key first, as LogValidator.validateRecord does.
    if rules.compacted and record.key is None:
        return [
            _Finding(
                RecordFault(index, "a record without a key cannot be stored in a compacted topic"),
                is_timestamp=False,
            )
        ]
    if rules.timestamp_type is TimestampType.CREATE:
        fault = create_time_fault(timestamp, rules, now_ms)
        if fault is not None:
            return [_Finding(RecordFault(index, fault), is_timestamp=True)]
    return []


def _raise_for(findings: list[_Finding]) -> None:
    if not findings:
        return
    faults = [finding.fault for finding in findings]
    # One bad timestamp makes the whole batch INVALID_TIMESTAMP in Kafka.
    if any(finding.is_timestamp for finding in findings):
        raise InvalidTimestamp(f"{len(faults)} records are invalid, some by their timestamps", faults)
    raise InvalidBatch(f"{len(faults)} records are invalid", faults)
