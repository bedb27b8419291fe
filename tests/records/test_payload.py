"""What is asked of the records inside a batch."""

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


def test_a_good_payload_tells_its_times() -> None:
    assert _check(BATCH) == PayloadFacts(NOW_MS, NOW_MS + 2)


def test_times_are_those_of_the_records_not_of_the_header() -> None:
    records = [Record(0, 50, b"k", None), Record(1, 40, b"k", None), Record(2, 60, b"k", None)]
    lying = with_fields(encode_batch(records), max_timestamp=1_000_000)
    assert _check(lying) == PayloadFacts(40, 60)


def test_a_stamped_batch_has_one_time() -> None:
    assert _check(stamped_batch(99)) == PayloadFacts(99, 99)


@given(record_lists())
def test_whatever_we_encode_passes(records: list[Record]) -> None:
    times = [record.timestamp for record in records]
    rules = BatchRules(timestamp_after_max_ms=2**62)
    assert _check(encode_batch(records), rules) == PayloadFacts(min(times), max(times))


@pytest.mark.parametrize("count", [4, 2**31 - 1])
def test_fewer_records_than_the_header_counts(count: int) -> None:
    with pytest.raises(InvalidBatch, match=f"counts {count} records, there are 3"):
        _check(with_fields(BATCH, record_count=count))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_more_records_than_the_header_counts(count: int) -> None:
    with pytest.raises(InvalidBatch, match=f"left after {count} records"):
        _check(with_fields(BATCH, record_count=count))


@pytest.mark.parametrize("length", range(len(PAYLOAD)))
def test_a_payload_cut_anywhere(length: int) -> None:
    with pytest.raises(InvalidBatch):
        _check(with_payload(BATCH, PAYLOAD[:length]))


def test_bytes_after_the_last_record() -> None:
    with pytest.raises(InvalidBatch, match="1 bytes are left"):
        _check(with_payload(BATCH, PAYLOAD + b"?"))


ONE = a_batch(1)
GOOD_RECORD = b"\x0c\x00\x00\x00\x01\x01\x00"  # length, attributes, time, offset, key, value, headers
ODD_RECORDS = {
    b"\x01": "claims -1 bytes, there are 0",
    b"\x7e\x00\x00\x00\x01\x01\x00": "claims 63 bytes, there are 6",
    b"\x0e\x00\x00\x00\x01\x01\x00\x00": "claims 7 bytes but has 6",
    b"\x0a\x00\x00\x00\x01\x01\x00": "end inside",
    b"\x00": "end inside",
    b"\x0c\x00\x00\x00\x7e\x01\x00": "63 bytes are claimed at byte 4, there are 2",
    b"\x0c\x00\x00\x00\x01\x7e\x00": "63 bytes are claimed at byte 5, there are 1",
    b"\x0c\x00\xff\xff\xff\xff\xff": "end inside",
    b"\x0c\x00\x00\x00\x01\x01\x01": "claims -1 headers",
    b"\x0c\x00\x00\x00\x01\x01\x02": "claims 1 headers in 0 bytes",
    b"\x10\x00\x00\x00\x01\x01\x02\x01\x01": "header has no key",
    b"\x10\x00\x00\x00\x01\x01\x02\x02a": "end inside",
    b"\x10\x00\x00\x00\x01\x01\x02\x00\x7e": "63 bytes are claimed at byte 8, there are 0",
}


@pytest.mark.parametrize(("payload", "message"), ODD_RECORDS.items())
def test_records_that_cannot_be_read(payload: bytes, message: str) -> None:
    with pytest.raises(InvalidBatch, match=message):
        _check(with_payload(ONE, payload))


def test_the_odd_records_differ_from_a_good_one_by_their_fault_only() -> None:
    assert _check(with_payload(ONE, GOOD_RECORD)) == PayloadFacts(NOW_MS, NOW_MS)


@pytest.mark.parametrize("offsets", [(1, 2, 3), (0, 2, 3), (0, 1, 1), (2, 1, 0)])
def test_offset_deltas_must_count_from_0(offsets: tuple[int, ...]) -> None:
    records = [Record(offset, NOW_MS, b"k", b"v") for offset in offsets]
    with pytest.raises(InvalidBatch, match="offset delta"):
        _check(encode_batch(records, base_offset=0))


def test_a_compacted_topic_needs_keys_and_names_the_records() -> None:
    records = [Record(0, NOW_MS, None, b"v"), Record(1, NOW_MS, b"", b"v"), Record(2, NOW_MS, None, b"v")]
    batch = encode_batch(records)
    assert _check(batch)
    with pytest.raises(InvalidBatch) as caught:
        _check(batch, BatchRules(compacted=True))
    assert [fault.index for fault in caught.value.faults] == [0, 2]


def _late(*ages_ms: int) -> bytes:
    return encode_batch([Record(index, NOW_MS - age, b"k", b"v") for index, age in enumerate(ages_ms)])


def test_times_out_of_range_name_the_records() -> None:
    rules = BatchRules(timestamp_before_max_ms=100, timestamp_after_max_ms=100)
    with pytest.raises(InvalidTimestamp) as caught:
        _check(_late(0, 101, 100, -100, -101), rules)
    assert [fault.index for fault in caught.value.faults] == [1, 4]
    assert str(NOW_MS - 101) in caught.value.faults[0].message


def test_no_time_is_no_fault() -> None:
    rules = BatchRules(timestamp_before_max_ms=100)
    assert _check(encode_batch([Record(0, -1, b"k", b"v")]), rules) == PayloadFacts(-1, -1)


def test_a_log_append_topic_does_not_judge_times() -> None:
    rules = BatchRules(timestamp_type=TimestampType.LOG_APPEND, timestamp_before_max_ms=0)
    assert _check(_late(500), rules) == PayloadFacts(NOW_MS - 500, NOW_MS - 500)


def test_one_bad_time_makes_the_batch_a_matter_of_times() -> None:
    records = [Record(0, NOW_MS, None, b"v"), Record(1, NOW_MS - 500, b"k", b"v")]
    with pytest.raises(RecordError) as caught:
        _check(encode_batch(records), BatchRules(compacted=True, timestamp_before_max_ms=100))
    assert isinstance(caught.value, InvalidTimestamp)
    assert [fault.index for fault in caught.value.faults] == [0, 1]
