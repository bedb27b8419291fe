"""Oracle for the kernels: batches to rows in plain Python, one record at a time.

It uses `dray.records.raw`, which has its own tests against Apache Kafka and other clients.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa

from dray.records import (
    CorruptBatch,
    InvalidBatch,
    RecordError,
    crc32c,
    decode_batch,
    decompress,
    parse_header,
)
from dray.records.columns import LATIN_1, MILLIS_MAX, StoredBatch
from dray.records.header import HEADER_BYTES, BatchHeader
from dray.records.payload import record_timestamp
from dray.records.raw import RawRecord, read_record

LIMIT_BYTES = 1 << 20


class Row(NamedTuple):
    """A row as it should be in the table; header keys as bytes."""

    partition: int
    offset: int
    timestamp_us: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[bytes, bytes | None]]
    attributes: int


def rows_of(partition: int, batches: Iterable[StoredBatch]) -> list[Row] | None:
    """Return the rows of these batches, or None if any of them is invalid."""
    try:
        return [row for batch in batches for row in _rows(partition, batch)]
    except RecordError:
        return None


def _rows(partition: int, batch: StoredBatch) -> list[Row]:
    view = memoryview(batch.buffer)
    header = parse_header(view)
    if header.size_bytes != len(view) or header.magic != 2 or header.crc != crc32c(view[21:]):
        raise CorruptBatch("not what was stored")
    if header.is_control or not header.record_count:
        return []
    decode_batch(view, LIMIT_BYTES)
    payload = decompress(header.codec, view[HEADER_BYTES:], LIMIT_BYTES)
    if header.record_count < 0:
        raise InvalidBatch("a negative count")
    rows, position, previous = [], 0, -1
    for _ in range(header.record_count):
        record, position = read_record(payload, position)
        if not previous < record.offset_delta <= header.last_offset_delta:
            raise InvalidBatch("offsets out of order")
        if record.attributes:
            raise InvalidBatch("attributes that no column holds")
        previous = record.offset_delta
        rows.append(_row(partition, batch.base_offset, header, record))
    return rows


def _row(partition: int, base_offset: int, header: BatchHeader, record: RawRecord) -> Row:
    millis = record_timestamp(header, record)
    if not -MILLIS_MAX <= millis <= MILLIS_MAX:
        raise InvalidBatch("a timestamp that microseconds cannot hold")
    headers = [(bytes(key), None if value is None else bytes(value)) for key, value in record.headers]
    attributes = header.attributes & 0xFFFF
    if not all(_is_utf8(key) for key, _ in headers):
        attributes |= LATIN_1
    key, value = (None if data is None else bytes(data) for data in (record.key, record.value))
    return Row(partition, base_offset + record.offset_delta, millis * 1000, key, value, headers, attributes)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def rows_in(chunks: Iterable[pa.RecordBatch]) -> list[Row]:
    """Return columns as the oracle's rows, after Arrow has validated every buffer."""
    return [row for chunk in chunks for row in _rows_in(chunk)]


def _rows_in(chunk: pa.RecordBatch) -> list[Row]:
    chunk.validate(full=True)
    micros = chunk.column("timestamp").cast(pa.int64())
    chunk = chunk.set_column(2, "timestamp", micros)
    return [_row_in(**row) for row in chunk.to_pylist()]


def _row_in(**row: Any) -> Row:
    coding = "latin-1" if row["attributes"] & LATIN_1 else "utf-8"
    headers = [(header["key"].encode(coding), header["value"]) for header in row["headers"]]
    assert {row[name] for name in ("producer_id", "producer_epoch", "base_sequence", "record_crc")} == {None}
    return Row(
        row["partition"],
        row["offset"],
        row["timestamp"],
        row["key"],
        row["value"],
        headers,
        row["attributes"],
    )
