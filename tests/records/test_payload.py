"""Validation of the records inside a batch."""

import pytest
from hypothesis import given

from dray.records import (
    BatchRules,
    InvalidBatch,
    InvalidTimestamp,
    PayloadFacts,
    Record,
    RecordError,
    TimestampType,
    check_payload,
    encode_batch,
    parse_header,
)
from tests.records.builders import NOW_MS, a_batch, stamped_batch, with_fields, with_payload
from tests.records.strategies import record_lists

RULES = BatchRules()
BATCH = a_batch()
PAYLOAD = BATCH[61:]


def _check(batch: bytes | memoryview, rules: BatchRules = RULES, now_ms: int = NOW_MS) -> PayloadFacts:
    view = memoryview(batch)
    return check_payload(parse_header(view), view[61:], rules, now_ms)


def test_valid_payload_returns_its_timestamps() -> None:
    assert _check(BATCH) == PayloadFacts(NOW_MS, NOW_MS + 2)


def test_timestamps_come_from_the_records_not_the_header() -> None:
    records = [Record(0, 50, b"k", None), Record(1, 40, b"k", None), Record(2, 60, b"k", None)]
    lying = with_fields(encode_batch(records), max_timestamp=1_000_000)
    assert _check(lying) == PayloadFacts(40, 60)


def test_log_append_batch_has_one_timestamp() -> None:
    assert _check(stamped_batch(99)) == PayloadFacts(99, 99)


@given(record_lists())
def test_every_encoded_batch_is_valid(records: list[Record]) -> None:
    times = [record.timestamp for record in records]
    rules = BatchRules(timestamp_after_max_ms=2**62)
    assert _check(encode_batch(records), rules) == PayloadFacts(min(times), max(times))


@pytest.mark.parametrize("count", [4, 2**31 - 1])
def test_fewer_records_than_the_header_counts_are_invalid(count: int) -> None:
    with pytest.raises(InvalidBatch, match=f"counts {count} records, there are 3"):
        _check(with_fields(BATCH, record_count=count))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_more_records_than_the_header_counts_are_invalid(count: int) -> None:
    with pytest.raises(InvalidBatch, match=f"remain after {count} records"):
        _check(with_fields(BATCH, record_count=count))


@pytest.mark.parametrize("length", range(len(PAYLOAD)))
def test_payload_truncated_anywhere_is_invalid(length: int) -> None:
    with pytest.raises(InvalidBatch):
        _check(with_payload(BATCH, PAYLOAD[:length]))


def test_bytes_after_the_last_record_are_invalid() -> None:
    with pytest.raises(InvalidBatch, match="1 bytes remain"):
        _check(with_payload(BATCH, PAYLOAD + b"?"))


ONE = a_batch(1)
GOOD_RECORD = b"\x0c\x00\x00\x00\x01\x01\x00"  # length, attributes, time, offset, key, value, headers
ODD_RECORDS = {
    b"\x01": "has length -1; expected 0 to 0",
    b"\x7e\x00\x00\x00\x01\x01\x00": "has length 63; expected 0 to 6",
    b"\x0e\x00\x00\x00\x01\x01\x00\x00": "has length 7, its fields 6",
    b"\x0a\x00\x00\x00\x01\x01\x00": "end inside",
    b"\x00": "end inside",
    b"\x0c\x00\x00\x00\x7e\x01\x00": "a field at byte 4 has length 63, but only 2 bytes remain",
    b"\x0c\x00\x00\x00\x01\x7e\x00": "a field at byte 5 has length 63, but only 1 bytes remain",
    b"\x0c\x00\xff\xff\xff\xff\xff": "end inside",
    b"\x0c\x00\x00\x00\x01\x01\x01": "has header count -1",
    b"\x0c\x00\x00\x00\x01\x01\x02": "has header count 1, but only 0 bytes remain",
    b"\x10\x00\x00\x00\x01\x01\x02\x01\x01": "header key is null",
    b"\x10\x00\x00\x00\x01\x01\x02\x02a": "end inside",
    b"\x10\x00\x00\x00\x01\x01\x02\x00\x7e": "a field at byte 8 has length 63, but only 0 bytes remain",
}


@pytest.mark.parametrize(("payload", "message"), ODD_RECORDS.items())
def test_malformed_records_are_reported(payload: bytes, message: str) -> None:
    with pytest.raises(InvalidBatch, match=message):
        _check(with_payload(ONE, payload))


def test_malformed_records_differ_from_a_valid_one_in_one_field() -> None:
    assert _check(with_payload(ONE, GOOD_RECORD)) == PayloadFacts(NOW_MS, NOW_MS)


@pytest.mark.parametrize("offsets", [(1, 2, 3), (0, 2, 3), (0, 1, 1), (2, 1, 0)])
def test_any_offset_deltas_are_accepted_as_in_kafka(offsets: tuple[int, ...]) -> None:
    records = [Record(offset, NOW_MS, b"k", b"v") for offset in offsets]
    assert _check(encode_batch(records, base_offset=0)) == PayloadFacts(NOW_MS, NOW_MS)


def test_compacted_topic_rejects_records_without_keys() -> None:
    records = [Record(0, NOW_MS, None, b"v"), Record(1, NOW_MS, b"", b"v"), Record(2, NOW_MS, None, b"v")]
    batch = encode_batch(records)
    assert _check(batch)
    with pytest.raises(InvalidBatch) as caught:
        _check(batch, BatchRules(compacted=True))
    assert [fault.index for fault in caught.value.faults] == [0, 2]


def _late(*ages_ms: int) -> bytes:
    return encode_batch([Record(index, NOW_MS - age, b"k", b"v") for index, age in enumerate(ages_ms)])


def test_timestamps_out_of_range_are_reported_by_record() -> None:
    rules = BatchRules(timestamp_before_max_ms=100, timestamp_after_max_ms=100)
    with pytest.raises(InvalidTimestamp) as caught:
        _check(_late(0, 101, 100, -100, -101), rules)
    assert [fault.index for fault in caught.value.faults] == [1, 4]
    assert str(NOW_MS - 101) in caught.value.faults[0].message


def test_missing_timestamp_is_valid() -> None:
    rules = BatchRules(timestamp_before_max_ms=100)
    assert _check(encode_batch([Record(0, -1, b"k", b"v")]), rules) == PayloadFacts(-1, -1)


def test_log_append_topic_ignores_timestamps() -> None:
    rules = BatchRules(timestamp_type=TimestampType.LOG_APPEND, timestamp_before_max_ms=0)
    assert _check(_late(500), rules) == PayloadFacts(NOW_MS - 500, NOW_MS - 500)


def test_one_invalid_timestamp_makes_it_a_timestamp_error() -> None:
    records = [Record(0, NOW_MS, None, b"v"), Record(1, NOW_MS - 500, b"k", b"v")]
    with pytest.raises(RecordError) as caught:
        _check(encode_batch(records), BatchRules(compacted=True, timestamp_before_max_ms=100))
    assert isinstance(caught.value, InvalidTimestamp)
    assert [fault.index for fault in caught.value.faults] == [0, 1]
