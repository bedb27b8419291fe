"""Stored batches become columns, record by record what the oracle says."""

import dataclasses

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.records import Codec, Record, TimestampType, encode_batch
from dray.records.columns import LATIN_1, MILLIS_MAX, SCHEMA, StoredBatch, consecutive, decode
from dray.records.raw import RawRecord, write_record
from tests.records.builders import NOW_MS, some_records
from tests.records.columns.oracle import rows_in, rows_of
from tests.records.columns.strategies import batch_of, stored_batches


@settings(max_examples=300)
@given(st.lists(stored_batches(), max_size=4), st.integers(0, 2**31 - 1))
def test_the_kernel_agrees_with_the_oracle(batches: list[StoredBatch], partition: int) -> None:
    assert rows_in(decode(partition, batches)) == rows_of(partition, batches)


@pytest.mark.parametrize("codec", Codec)
def test_every_record_of_every_codec(codec: Codec) -> None:
    records = some_records(count=500, value_bytes=90)
    rows = rows_in(decode(3, [StoredBatch(1_000, encode_batch(records, codec=codec))]))
    assert [(row.partition, row.offset) for row in rows] == [(3, 1_000 + n) for n in range(500)]
    assert [(row.key, row.value, row.timestamp_us) for row in rows] == [
        (record.key, record.value, record.timestamp * 1000) for record in records
    ]
    assert {row.attributes for row in rows} == {codec}


def test_the_columns_are_those_of_the_schema() -> None:
    (rows,) = decode(0, [StoredBatch(0, encode_batch(some_records()))])
    assert rows.schema.equals(SCHEMA)
    assert rows.column("key").null_count == 0


def test_the_offset_of_the_index_counts_and_not_the_one_in_the_bytes() -> None:
    batch = encode_batch(some_records(), base_offset=0)
    (first,) = decode(0, [StoredBatch(77, batch)])
    assert first.column("offset").to_pylist() == [77, 78, 79]


def test_a_run_of_batches_is_cut_and_numbered() -> None:
    run = encode_batch(some_records(2)) + encode_batch(some_records(3))
    assert [row.offset for row in rows_in(decode(0, consecutive(10, run)))] == [10, 11, 12, 13, 14]


def test_log_append_time_is_the_batchs() -> None:
    batch = encode_batch(some_records(), timestamp_type=TimestampType.LOG_APPEND, append_time_ms=NOW_MS)
    rows = rows_in(decode(0, [StoredBatch(0, batch)]))
    assert {row.timestamp_us for row in rows} == {NOW_MS * 1000}
    assert {row.attributes for row in rows} == {8}


def test_control_batches_and_empty_ones_have_no_rows() -> None:
    control = encode_batch([Record(0, 0, b"\0\0\0\1", b"")], control=True)
    batches = [
        StoredBatch(0, control),
        StoredBatch(1, batch_of(b"", 0, 4)),
        StoredBatch(6, encode_batch(some_records(1))),
    ]
    assert [row.offset for row in rows_in(decode(0, batches))] == [6]
    assert list(decode(0, batches[:2])) == []


@pytest.mark.parametrize("millis", [-1, 0, MILLIS_MAX, -MILLIS_MAX])
def test_timestamps_that_fit(millis: int) -> None:
    (row,) = rows_in(decode(0, [StoredBatch(0, encode_batch([Record(0, millis, None, None)]))]))
    assert row.timestamp_us == millis * 1000


@pytest.mark.parametrize(
    ("millis", "kept"), [(2**63 - 1, MILLIS_MAX), (MILLIS_MAX + 1, MILLIS_MAX), (-(2**63), -MILLIS_MAX)]
)
def test_timestamps_that_micros_cannot_tell_become_the_nearest(millis: int, kept: int) -> None:
    (row,) = rows_in(decode(0, [StoredBatch(0, encode_batch([Record(0, millis, None, None)]))]))
    assert row.timestamp_us == kept * 1000


# What UTF-8 forbids, each for its own reason, and the last characters that it allows.
KEYS = [
    (b"\x80", False),
    (b"\xc1\xbf", False),
    (b"\xc3", False),
    (b"\xe0\x9f\xbf", False),
    (b"\xed\xa0\x80", False),
    (b"\xe2\x82", False),
    (b"\xf0\x8f\xbf\xbf", False),
    (b"\xf4\x90\x80\x80", False),
    (b"\xf5\x80\x80\x80", False),
    (b"caf\xe9", False),
    (b"\xc2\x80", True),
    (b"\xed\x9f\xbf", True),
    (b"\xee\x80\x80", True),
    (b"\xf4\x8f\xbf\xbf", True),
    ("schlüssel €".encode(), True),
]


@pytest.mark.parametrize(("key", "is_text"), KEYS)
def test_header_keys_of_any_bytes(key: bytes, is_text: bool) -> None:
    payload = bytearray()
    header = (memoryview(key), None)
    write_record(payload, RawRecord(0, 0, None, None, (header, (memoryview(b"plain"), None))))
    (chunk,) = decode(0, [StoredBatch(0, batch_of(bytes(payload), 1, 0))])
    (row,) = rows_in([chunk])
    assert [found for found, _ in row.headers] == [key, b"plain"]
    assert row.attributes == (0 if is_text else LATIN_1)


@settings(max_examples=200)
@given(st.binary(max_size=12))
def test_what_counts_as_text_is_what_python_says(key: bytes) -> None:
    payload = bytearray()
    write_record(payload, RawRecord(0, 0, None, None, ((memoryview(key), None),)))
    batches = [StoredBatch(0, batch_of(bytes(payload), 1, 0))]
    assert rows_in(decode(0, batches)) == rows_of(0, batches)


def test_chunks_end_when_they_are_full() -> None:
    batches = [StoredBatch(3 * n, encode_batch(some_records(3, value_bytes=100))) for n in range(10)]
    sizes = [chunk.num_rows for chunk in decode(0, batches, chunk_bytes=800)]
    assert sizes == [9, 9, 9, 3]
    assert rows_in(decode(0, batches, chunk_bytes=1)) == rows_in(decode(0, batches))


def test_a_chunk_lives_as_long_as_it_is_held() -> None:
    batches = [StoredBatch(n, encode_batch([Record(0, n, None, b"%d" % n)])) for n in range(50)]
    chunks = list(decode(0, batches, chunk_bytes=1))
    assert [chunk.column("value").to_pylist() for chunk in chunks] == [[b"%d" % n] for n in range(50)]


def test_memory_that_is_not_bytes_is_read() -> None:
    batch = encode_batch(some_records())
    expected = rows_of(0, [StoredBatch(5, batch)])
    for buffer in (bytearray(batch), memoryview(batch), pa.py_buffer(batch)):
        assert rows_in(decode(0, [StoredBatch(5, buffer)])) == expected


def test_a_chunk_size_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="chunk_bytes must be 1 to"):
        list(decode(0, [], chunk_bytes=0))


def test_duplicate_headers_keep_their_order() -> None:
    record = dataclasses.replace(some_records(1)[0], headers=(("b", b"1"), ("a", None), ("b", b"")))
    (row,) = rows_in(decode(0, [StoredBatch(0, encode_batch([record]))]))
    assert row.headers == [(b"b", b"1"), (b"a", None), (b"b", b"")]
