"""Round trip from records to batches and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.records import (
    Codec,
    CorruptBatch,
    InvalidBatch,
    Record,
    TimestampType,
    decode_batch,
    encode_batch,
    parse_header,
)
from tests.records.builders import a_batch, crc_holds, some_records, with_fields, with_payload
from tests.records.strategies import codecs, record_lists


@given(record_lists(), codecs, st.integers(0, 2**40))
def test_round_trip(records: list[Record], codec: Codec, base_offset: int) -> None:
    shifted = [
        Record(record.offset + base_offset, record.timestamp, record.key, record.value, record.headers)
        for record in records
    ]
    batch = encode_batch(shifted, codec=codec)
    assert crc_holds(batch)
    assert decode_batch(memoryview(batch)) == shifted


def test_nulls_and_empties_are_different() -> None:
    records = [Record(0, 1, None, None, (("a", None), ("a", b""))), Record(1, 1, b"", b"")]
    assert decode_batch(memoryview(encode_batch(records))) == records


def test_headers_keep_order_and_duplicates() -> None:
    headers = (("b", b"1"), ("a", b"2"), ("b", b"1"), ("", None))
    assert decode_batch(memoryview(encode_batch([Record(0, 1, b"k", b"v", headers)])))[0].headers == headers


def test_header_keys_that_are_not_utf8_are_read_as_java_reads_them() -> None:
    payload = b"\x16\x00\x00\x00\x01\x01\x02\x04a\xff\x02v"
    (record,) = decode_batch(with_payload(a_batch(1), payload))
    assert record.headers == (("a\ufffd", b"v"),)


def test_log_append_time_overrides_the_records_timestamps() -> None:
    batch = encode_batch(some_records(), timestamp_type=TimestampType.LOG_APPEND, append_time_ms=42)
    assert [record.timestamp for record in decode_batch(memoryview(batch))] == [42, 42, 42]


def test_every_header_field_can_be_set() -> None:
    batch = encode_batch(
        [Record(17, 70, None, None), Record(19, 60, None, None)],
        codec=Codec.ZSTD,
        base_offset=15,
        leader_epoch=6,
        producer_id=2**40,
        producer_epoch=3,
        base_sequence=12,
        transactional=True,
        control=True,
    )
    header = parse_header(memoryview(batch))
    assert (header.base_offset, header.last_offset_delta, header.leader_epoch) == (15, 4, 6)
    assert (header.base_timestamp, header.max_timestamp, header.record_count) == (70, 70, 2)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (2**40, 3, 12)
    assert (header.codec, header.is_transactional, header.is_control) == (4, True, True)
    assert [record.offset for record in decode_batch(memoryview(batch))] == [17, 19]


def test_batch_emptied_by_compaction_has_no_records() -> None:
    assert decode_batch(with_fields(bytes(with_payload(a_batch(3), b"")), record_count=0)) == []


def test_no_records_make_no_batch() -> None:
    with pytest.raises(ValueError, match="at least one record"):
        encode_batch([])


def test_sums_wrap_as_in_java() -> None:
    (record,) = decode_batch(with_fields(a_batch(1), base_timestamp=2**63 - 1, base_offset=2**63 - 1))
    assert record.offset == 2**63 - 1
    records = decode_batch(with_fields(a_batch(2), base_timestamp=2**63 - 1, base_offset=2**63 - 1))
    assert (records[1].timestamp, records[1].offset) == (-(2**63), -(2**63))


def test_anything_but_one_valid_batch_is_rejected() -> None:
    batch = a_batch()
    with pytest.raises(CorruptBatch, match="has length"):
        decode_batch(memoryview(batch + batch))
    with pytest.raises(CorruptBatch, match="CRC"):
        decode_batch(with_fields(batch, crc=1))
    with pytest.raises(InvalidBatch, match="format 1"):
        decode_batch(with_fields(batch, magic=1))
    with pytest.raises(InvalidBatch, match="counts 4"):
        decode_batch(with_fields(batch, record_count=4))
    with pytest.raises(InvalidBatch, match="remain after 2"):
        decode_batch(with_fields(batch, record_count=2))
