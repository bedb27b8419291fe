"""Stored batches as columns, equal to the oracle's rows record by record."""

import dataclasses
from functools import partial
from importlib import import_module

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.records import Codec, Record, TimestampType, encode_batch
from dray.records.columns import (
    LATIN_1,
    MILLIS_MAX,
    SCHEMA,
    DamagedBatch,
    OversizedBatch,
    StoredBatch,
    UnconvertibleBatch,
    consecutive,
    decode,
    decode_convertible,
)
from dray.records.raw import RawRecord, write_record
from tests.records.builders import NOW_MS, some_records
from tests.records.columns.oracle import rows_in, rows_of
from tests.records.columns.strategies import batch_of, stored_batches


@settings(max_examples=300)
@given(st.lists(stored_batches(), max_size=4), st.integers(0, 2**31 - 1))
def test_kernel_agrees_with_the_oracle(batches: list[StoredBatch], partition: int) -> None:
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


def test_columns_have_the_schema() -> None:
    (rows,) = decode(0, [StoredBatch(0, encode_batch(some_records()))])
    assert rows.schema.equals(SCHEMA)
    assert rows.column("key").null_count == 0


def test_offset_comes_from_the_index_not_from_the_header() -> None:
    batch = encode_batch(some_records(), base_offset=0)
    (first,) = decode(0, [StoredBatch(77, batch)])
    assert first.column("offset").to_pylist() == [77, 78, 79]


def test_consecutive_batches_are_split_and_numbered() -> None:
    run = encode_batch(some_records(2)) + encode_batch(some_records(3))
    assert [row.offset for row in rows_in(decode(0, consecutive(10, run)))] == [10, 11, 12, 13, 14]


def test_log_append_time_is_the_time_of_the_batch() -> None:
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
def test_timestamps_that_fit_are_converted(millis: int) -> None:
    (row,) = rows_in(decode(0, [StoredBatch(0, encode_batch([Record(0, millis, None, None)]))]))
    assert row.timestamp_us == millis * 1000


@pytest.mark.parametrize("millis", [2**63 - 1, MILLIS_MAX + 1, -MILLIS_MAX - 1, -(2**63)])
@pytest.mark.parametrize("kind", TimestampType)
def test_timestamps_beyond_microseconds_are_unconvertible(millis: int, kind: TimestampType) -> None:
    batch = encode_batch([Record(0, millis, None, None)], timestamp_type=kind, append_time_ms=millis)
    with pytest.raises(UnconvertibleBatch, match="record 0: its timestamp overflows microseconds"):
        list(decode(0, [StoredBatch(0, batch)]))


def test_timestamps_wrap_at_64_bits_as_in_java() -> None:
    payload = bytearray()
    write_record(payload, RawRecord(2**63 - 1, 0, None, None, ()))
    batch = batch_of(bytes(payload), 1, 0, times=(-(2**63) + 8, 0))
    assert [row.timestamp_us for row in rows_in(decode(0, [StoredBatch(0, batch)]))] == [7000]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (RawRecord(0, 1, None, None, (), attributes=8), "it has attributes of its own"),
        (RawRecord(0, 2**33 + 1, None, None, ()), "a varint is malformed"),
    ],
)
def test_records_that_clients_read_differently_are_unconvertible(record: RawRecord, reason: str) -> None:
    payload = bytearray()
    write_record(payload, RawRecord(0, 0, None, None, ()))
    write_record(payload, record)
    batch = StoredBatch(0, batch_of(bytes(payload), 2, 1))
    assert rows_of(0, [batch]) is None
    with pytest.raises(UnconvertibleBatch, match=f"record 1: .*{reason}"):
        list(decode(0, [batch]))


UNCONVERTIBLE = batch_of(b"\x0c\x00\x00\x08\x01\x01\x00", 1, 2)


def test_unconvertible_batches_are_reported_by_their_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("dray.records.columns.decode")
    monkeypatch.setattr(module, "decode", partial(decode, plain_bytes_max=10_000))
    valid = encode_batch(some_records(3))
    bomb = encode_batch([Record(0, 0, None, bytes(10_001))], codec=Codec.ZSTD)
    batches = [
        StoredBatch(10, valid),
        StoredBatch(13, UNCONVERTIBLE),
        StoredBatch(16, valid),
        StoredBatch(19, bomb),
        StoredBatch(20, UNCONVERTIBLE),
    ]
    found = decode_convertible(0, batches)
    assert [row.offset for row in rows_in(found.rows)] == [10, 11, 12, 16, 17, 18]
    assert [(type(one), one.base_offset, one.last_offset) for one in found.unconvertible] == [
        (UnconvertibleBatch, 13, 15),
        (OversizedBatch, 19, 19),
        (UnconvertibleBatch, 20, 22),
    ]


def test_rows_are_complete_if_every_batch_is_convertible() -> None:
    found = decode_convertible(4, [StoredBatch(0, encode_batch(some_records()))])
    assert [(row.partition, row.offset) for row in rows_in(found.rows)] == [(4, 0), (4, 1), (4, 2)]
    assert found.unconvertible == []


def test_corruption_is_never_skipped() -> None:
    corrupted = encode_batch(some_records())[:-1] + b"y"
    with pytest.raises(DamagedBatch, match="offset 3"):
        decode_convertible(0, [StoredBatch(0, UNCONVERTIBLE), StoredBatch(3, corrupted)])


# Sequences that UTF-8 forbids, each for a different reason, and the last characters it allows.
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
def test_header_keys_of_any_bytes_are_kept(key: bytes, is_text: bool) -> None:
    payload = bytearray()
    header = (memoryview(key), None)
    write_record(payload, RawRecord(0, 0, None, None, (header, (memoryview(b"plain"), None))))
    (chunk,) = decode(0, [StoredBatch(0, batch_of(bytes(payload), 1, 0))])
    (row,) = rows_in([chunk])
    assert [found for found, _ in row.headers] == [key, b"plain"]
    assert row.attributes == (0 if is_text else LATIN_1)


@settings(max_examples=200)
@given(st.binary(max_size=12))
def test_text_is_what_python_decodes_as_utf8(key: bytes) -> None:
    payload = bytearray()
    write_record(payload, RawRecord(0, 0, None, None, ((memoryview(key), None),)))
    batches = [StoredBatch(0, batch_of(bytes(payload), 1, 0))]
    assert rows_in(decode(0, batches)) == rows_of(0, batches)


def test_chunks_end_when_they_are_full() -> None:
    batches = [StoredBatch(3 * n, encode_batch(some_records(3, value_bytes=100))) for n in range(10)]
    sizes = [chunk.num_rows for chunk in decode(0, batches, chunk_bytes=800)]
    assert sizes == [9, 9, 9, 3]
    assert rows_in(decode(0, batches, chunk_bytes=1)) == rows_in(decode(0, batches))


def test_chunk_lives_as_long_as_it_is_referenced() -> None:
    batches = [StoredBatch(n, encode_batch([Record(0, n, None, b"%d" % n)])) for n in range(50)]
    chunks = list(decode(0, batches, chunk_bytes=1))
    assert [chunk.column("value").to_pylist() for chunk in chunks] == [[b"%d" % n] for n in range(50)]


def test_buffers_other_than_bytes_are_accepted() -> None:
    batch = encode_batch(some_records())
    expected = rows_of(0, [StoredBatch(5, batch)])
    for buffer in (bytearray(batch), memoryview(batch), pa.py_buffer(batch)):
        assert rows_in(decode(0, [StoredBatch(5, buffer)])) == expected


def test_chunk_size_out_of_range_is_rejected() -> None:
    with pytest.raises(ValueError, match="chunk_bytes must be 1 to"):
        list(decode(0, [], chunk_bytes=0))


def test_duplicate_headers_keep_their_order() -> None:
    record = dataclasses.replace(some_records(1)[0], headers=(("b", b"1"), ("a", None), ("b", b"")))
    (row,) = rows_in(decode(0, [StoredBatch(0, encode_batch([record]))]))
    assert row.headers == [(b"b", b"1"), (b"a", None), (b"b", b"")]
