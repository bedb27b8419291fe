"""Columns as batches, with the records that they were decoded from."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.records import (
    HEADER_BYTES,
    InvalidBatch,
    Record,
    TimestampType,
    decode_batch,
    encode_batch,
    iter_batches,
)
from dray.records.columns import LATIN_1, SCHEMA, StoredBatch, decode, encode, encode_in_parts, rows_from
from dray.records.decompression_bounds import RECORD_BYTES_MIN
from tests.records.builders import NOW_MS, some_records
from tests.records.columns.oracle import Row, rows_in, rows_of
from tests.records.columns.strategies import stored_batches


def _columns(records: list[Record], base_offset: int = 0) -> pa.RecordBatch:
    (rows,) = decode(0, [StoredBatch(base_offset, encode_batch(records))])
    return rows


def _served(encoded: memoryview) -> list[Row]:
    """Decode the encoded bytes to rows; the plain decoder verifies lengths and checksums."""
    found = rows_of(0, [StoredBatch(head.base_offset, bytes(view)) for head, view in iter_batches(encoded)])
    assert found is not None
    return found


def _as_served(rows: list[Row]) -> list[Row]:
    return [row._replace(attributes=row.attributes & (8 | LATIN_1)) for row in rows]


@settings(max_examples=300)
@given(
    st.lists(stored_batches(), max_size=4),
    st.integers(1, 600),
    st.sampled_from([1, 20, 1 << 20]),
)
def test_stored_records_are_served_unchanged(
    batches: list[StoredBatch], batch_bytes: int, span_max: int
) -> None:
    # Rows must ascend, so the batches are placed one after the other.
    placed = [StoredBatch(1000 * number, batch.buffer) for number, batch in enumerate(batches)]
    for chunk in decode(0, placed):
        encoded = encode(chunk, batch_bytes=batch_bytes, span_max=span_max)
        assert _served(encoded.buffer) == _as_served(rows_in([chunk]))
        for span in encoded.spans:
            assert span.last_offset - span.base_offset <= span_max
            assert span.end - span.start <= batch_bytes or span.record_count == 1


@settings(max_examples=100)
@given(stored_batches(), st.data())
def test_slice_is_served_as_its_rows(batch: StoredBatch, data: st.DataObject) -> None:
    for chunk in decode(0, [batch]):
        start = data.draw(st.integers(0, chunk.num_rows))
        rows = chunk.slice(start, data.draw(st.integers(0, chunk.num_rows - start)))
        assert _served(encode(rows).buffer) == _as_served(rows_in([chunk])[start : start + rows.num_rows])


def test_bytes_equal_those_of_the_plain_encoder() -> None:
    records = [replace(record, offset=record.offset + 90) for record in some_records(40)]
    rows = _columns(records, 90)
    assert bytes(encode(rows, leader_epoch=4).buffer) == encode_batch(records, leader_epoch=4)


def test_spans_match_the_headers() -> None:
    encoded = encode(_columns(some_records(300), 1000), batch_bytes=2000)
    assert len(encoded.spans) > 3
    for span, (header, view) in zip(encoded.spans, iter_batches(encoded.buffer), strict=True):
        assert span.base_offset == header.base_offset
        assert span.last_offset == header.last_offset
        assert span.record_count == header.record_count == len(decode_batch(view))
        assert span.max_timestamp_ms == header.max_timestamp
        assert bytes(encoded.buffer[span.start : span.end]) == bytes(view)
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)
        assert header.size_bytes <= 2000


def test_record_larger_than_a_batch_gets_its_own_batch() -> None:
    records = [Record(n, n, None, bytes(5000 if n == 1 else 10)) for n in range(3)]
    encoded = encode(_columns(records), batch_bytes=200)
    assert [span.record_count for span in encoded.spans] == [1, 1, 1]
    assert [len(row.value or b"") for row in _served(encoded.buffer)] == [10, 5000, 10]


def test_parts_are_separate_buffers_with_the_same_rows() -> None:
    headers: list[tuple[tuple[str, bytes | None], ...]] = [(), (("a", b"1"), ("a", None)), (("b", b""),)]
    rows = _columns(
        [
            Record(n, n, b"k%d" % n if n % 2 else None, bytes(100) if n % 5 else None, headers[n % 3])
            for n in range(300)
        ]
    )
    size = rows.nbytes // 5
    parts = list(encode_in_parts(rows, size))
    assert len(parts) == 5
    assert all(size / 2 < len(part.buffer) < 2 * size for part in parts)
    assert [row for part in parts for row in _served(part.buffer)] == _served(encode(rows).buffer)
    assert [part.buffer for part in encode_in_parts(rows, 1 << 30)] == [encode(rows).buffer]
    assert list(encode_in_parts(rows.slice(0, 0), size)) == []


def test_size_limit_is_exact() -> None:
    rows = _columns([Record(n, 0, None, bytes(50)) for n in range(2)])
    whole = len(encode(rows).buffer)
    assert len(encode(rows, batch_bytes=whole).spans) == 1
    assert len(encode(rows, batch_bytes=whole - 1).spans) == 2


def test_log_append_time_is_restored_batch_by_batch() -> None:
    stamp = TimestampType.LOG_APPEND
    batches = [
        StoredBatch(0, encode_batch(some_records(), timestamp_type=stamp, append_time_ms=NOW_MS)),
        StoredBatch(3, encode_batch(some_records(), timestamp_type=stamp, append_time_ms=NOW_MS + 5)),
        StoredBatch(6, encode_batch(some_records())),
    ]
    (rows,) = decode(0, batches)
    found = [(head.timestamp_type, head.max_timestamp) for head, _ in iter_batches(encode(rows).buffer)]
    create = TimestampType.CREATE
    assert found == [(stamp, NOW_MS), (stamp, NOW_MS + 5), (create, NOW_MS + 2)]


def test_codec_and_transaction_bits_are_not_restored() -> None:
    (rows,) = decode(0, [StoredBatch(0, encode_batch(some_records(), codec=4, transactional=True))])
    assert set(rows.column("attributes").to_pylist()) == {0x14}
    ((header, _),) = iter_batches(encode(rows).buffer)
    assert header.attributes == 0


def test_no_rows_make_no_batches() -> None:
    encoded = encode(_columns(some_records()).slice(0, 0))
    assert (len(encoded.buffer), encoded.spans) == (0, ())


def test_columns_of_equivalent_types_are_accepted() -> None:
    rows = _columns(some_records(20), 5)
    foreign = {
        "value": pa.large_binary(),
        "key": pa.dictionary(pa.int32(), pa.binary()),
        "timestamp": pa.timestamp("ms", "UTC"),
        "attributes": pa.int64(),
    }
    rewritten = pa.RecordBatch.from_pydict(
        {
            name: rows.column(name).dictionary_encode() if name == "key" else rows.column(name).cast(kind)
            for name, kind in foreign.items()
        }
        | {"offset": rows.column("offset"), "headers": rows.column("headers")}
    )
    assert bytes(encode(rewritten).buffer) == bytes(encode(rows).buffer)


def test_timestamps_are_rounded_down_to_milliseconds() -> None:
    rows = _columns([Record(0, -1, None, None)])
    micros = pa.array([-1], pa.int64()).cast(rows.column("timestamp").type)
    changed = rows.set_column(2, rows.schema.field(2), micros)
    assert [row.timestamp_us for row in _served(encode(changed).buffer)] == [-1000]


def _with(rows: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    return rows.set_column(rows.schema.get_field_index(name), name, column)


def test_rows_that_cannot_be_encoded_are_reported() -> None:
    rows = _columns(some_records(3), 10)
    faults = {
        "row 2, offset 11, .* not greater": _with(rows, "offset", pa.array([10, 11, 11])),
        "row 0, offset -1, .* negative": _with(rows, "offset", pa.array([-1, 11, 12])),
        "column offset has 1 nulls": _with(rows, "offset", pa.array([10, None, 12])),
        "need the column value": rows.drop_columns(["value"]),
        "column key is": _with(rows, "key", pa.array([[1], [2], [3]])),
        "marked as Latin-1": _with(
            _with(rows, "attributes", pa.array([LATIN_1] * 3)), "headers", _euros(rows)
        ),
    }
    for message, wrong in faults.items():
        with pytest.raises(InvalidBatch, match=message):
            encode(wrong)


def _euros(rows: pa.RecordBatch) -> pa.Array:
    return pa.array([[{"key": "€", "value": None}]] * 3, rows.column("headers").type)


@pytest.mark.parametrize("limits", [{"batch_bytes": 0}, {"batch_bytes": 2**31}, {"span_max": 0}])
def test_limits_out_of_range_are_rejected(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(limits))):
        encode(_columns(some_records()), **limits)


def test_headers_that_are_slices_of_slices() -> None:
    rows = _columns([replace(record, headers=(("n", b"%d" % record.offset),)) for record in some_records(30)])
    kept = pc.list_slice(rows.column("headers"), 0, 1)
    for part in (rows, _with(rows, "headers", kept.cast(rows.column("headers").type))):
        served = _served(encode(part.slice(10).slice(5, 10)).buffer)
        assert [row.headers for row in served] == [[(b"n", b"%d" % n)] for n in range(15, 25)]


def test_encoding_is_thread_safe() -> None:
    parts = [_columns(some_records(200, value_bytes=n), 10 * n) for n in range(1, 30)]
    expected = [bytes(encode(rows).buffer) for rows in parts]
    with ThreadPoolExecutor(4) as threads:
        assert [bytes(done.buffer) for done in threads.map(encode, parts)] == expected


def test_smallest_record_takes_seven_bytes() -> None:
    encoded = encode(_columns([Record(0, 0, None, None)]))
    assert len(encoded.buffer) == HEADER_BYTES + RECORD_BYTES_MIN


@pytest.mark.parametrize(("first", "left"), [(0, 3), (10, 3), (11, 2), (12, 1), (13, 0), (999, 0)])
def test_rows_from_an_offset_on_are_encoded(first: int, left: int) -> None:
    rows = rows_from(_columns(some_records(3), 10), first)
    assert [row.offset for row in _served(encode(rows).buffer)] == [10, 11, 12][3 - left :]
    assert encode(rows).buffer.readonly


@pytest.mark.parametrize("count", [0, 2])
def test_columns_that_arrow_built_without_any_bytes(count: int) -> None:
    nothing: dict[str, object] = {
        "timestamp": 0,
        "key": None,
        "value": None,
        "headers": [],
        "attributes": 0,
        "partition": 0,
    }
    rows = pa.RecordBatch.from_pylist([nothing | {"offset": n} for n in range(count)], SCHEMA)
    assert [row.offset for row in _served(encode(rows).buffer)] == list(range(count))
