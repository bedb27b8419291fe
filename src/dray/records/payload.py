"""What Kafka asks of the records inside a batch.

Plain Python, a record at a time, some microseconds each. This is the readable statement of the rules and
the oracle for the compiled kernel that a broker uses on the produce path; nothing hot may call it.

Deliberate difference: offset deltas must be 0, 1, 2… Kafka rebuilds a compressed batch whose deltas are
not; we store batches as they came, so we refuse it.
"""

from typing import NamedTuple

from dray.records.errors import InvalidBatch, InvalidTimestamp, RecordFault
from dray.records.header import NO_TIMESTAMP, BatchHeader, TimestampType
from dray.records.int64 import wrapped
from dray.records.raw import RawRecord, read_record
from dray.records.rules import BatchRules, create_time_fault


class PayloadFacts(NamedTuple):
    """What only the records tell; the header's maxTimestamp may be a client's mistake, this is not."""

    min_timestamp: int
    max_timestamp: int


class _Finding(NamedTuple):
    fault: RecordFault
    is_timestamp: bool


def check_payload(header: BatchHeader, payload: memoryview, rules: BatchRules, now_ms: int) -> PayloadFacts:
    """Read all records of a decompressed payload; raise a `RecordError` if any breaks a rule.

    A payload that cannot be read ends the check at once. Faults of single records are gathered, and the
    batch fails as a whole.
    """
    findings: list[_Finding] = []
    low, high = 2**63 - 1, NO_TIMESTAMP
    position = 0
    for index in range(header.record_count):
        if position >= len(payload):
            raise InvalidBatch(f"the header counts {header.record_count} records, there are {index}")
        record, position = read_record(payload, position)
        if record.offset_delta != index:
            raise InvalidBatch(f"record {index} has offset delta {record.offset_delta}; it must be {index}")
        timestamp = record_timestamp(header, record)
        low, high = min(low, timestamp), max(high, timestamp)
        findings += _findings(index, record, timestamp, rules, now_ms)
    if position != len(payload):
        raise InvalidBatch(f"{len(payload) - position} bytes are left after {header.record_count} records")
    _raise_for(findings)
    return PayloadFacts(min(low, high), high)


def record_timestamp(header: BatchHeader, record: RawRecord) -> int:
    """Return the time a consumer sees; it wraps at 64 bits as in Java."""
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
                RecordFault(index, "a compacted topic takes no record without a key"), is_timestamp=False
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
    # Kafka answers INVALID_TIMESTAMP for the batch as soon as one record earned it.
    if any(finding.is_timestamp for finding in findings):
        raise InvalidTimestamp(f"{len(faults)} records were refused, some for their timestamps", faults)
    raise InvalidBatch(f"{len(faults)} records were refused", faults)
