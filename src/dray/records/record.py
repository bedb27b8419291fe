"""Batches encoded from records and decoded to records: for tests, tools and lookups by time.

Plain Python, one record at a time. Header keys that are not UTF-8 are read with U+FFFD in place of the
invalid bytes, as in Java.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dray.records.codecs import Codec, compress, decompress
from dray.records.errors import CorruptBatch, InvalidBatch
from dray.records.header import (
    CONTROL_BIT,
    CRC_START,
    HEADER_BYTES,
    LENGTH_END,
    LOG_APPEND_BIT,
    MAGIC_V2,
    NO_PRODUCER,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    TimestampType,
    checksummed,
    parse_header,
)
from dray.records.payload import record_timestamp
from dray.records.primitives import crc32c, wrapped
from dray.records.raw import RawRecord, read_record, write_record

DECODE_LIMIT_BYTES: Final = 256 * 1024 * 1024
"""Default limit of `decode_batch` for the decompressed size of a batch."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record as clients see it. Headers keep their order and may repeat a key."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def encode_batch(
    records: Sequence[Record],
    *,
    codec: int = Codec.NONE,
    base_offset: int | None = None,
    leader_epoch: int = -1,
    producer_id: int = NO_PRODUCER,
    producer_epoch: int = -1,
    base_sequence: int = NO_SEQUENCE,
    timestamp_type: TimestampType = TimestampType.CREATE,
    append_time_ms: int = NO_TIMESTAMP,
    transactional: bool = False,
    control: bool = False,
) -> bytes:
    """Return one batch; `base_offset` is by default the first record's, `append_time_ms` for LOG_APPEND."""
    if not records:
        raise ValueError("a batch needs at least one record")
    base = records[0].offset if base_offset is None else base_offset
    stamped = timestamp_type is TimestampType.LOG_APPEND
    attributes = (
        codec
        | (LOG_APPEND_BIT if stamped else 0)
        | (TRANSACTIONAL_BIT if transactional else 0)
        | (CONTROL_BIT if control else 0)
    )
    payload = compress(codec, _payload(records, base))
    header = BatchHeader(
        base_offset=base,
        batch_length=HEADER_BYTES - LENGTH_END + len(payload),
        leader_epoch=leader_epoch,
        magic=MAGIC_V2,
        crc=0,
        attributes=attributes,
        last_offset_delta=records[-1].offset - base,
        base_timestamp=records[0].timestamp,
        max_timestamp=append_time_ms if stamped else max(record.timestamp for record in records),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=len(records),
    )
    return checksummed(header, payload)[1] + payload


def decode_batch(batch: memoryview, limit_bytes: int = DECODE_LIMIT_BYTES) -> list[Record]:
    """Return the records of one whole batch, or raise a `RecordError` if they cannot be read."""
    header = parse_header(batch)
    _check_whole(batch, header)
    payload = decompress(header.codec, batch[HEADER_BYTES:], limit_bytes)
    records = []
    position = 0
    for index in range(header.record_count):
        if position >= len(payload):
            raise InvalidBatch(f"the header counts {header.record_count} records, found {index}")
        raw, position = read_record(payload, position)
        records.append(_decoded(header, raw))
    if position != len(payload):
        raise InvalidBatch(f"{len(payload) - position} bytes remain after {header.record_count} records")
    return records


def _payload(records: Sequence[Record], base_offset: int) -> bytearray:
    out = bytearray()
    for record in records:
        raw = RawRecord(
            timestamp_delta=wrapped(record.timestamp - records[0].timestamp),
            offset_delta=record.offset - base_offset,
            key=_view(record.key),
            value=_view(record.value),
            headers=tuple((memoryview(key.encode()), _view(value)) for key, value in record.headers),
        )
        write_record(out, raw)
    return out


def _check_whole(batch: memoryview, header: BatchHeader) -> None:
    if header.size_bytes != len(batch):
        raise CorruptBatch(f"the batch has length {header.size_bytes}, found {len(batch)} bytes")
    if header.magic != MAGIC_V2:
        raise InvalidBatch(f"the batch is of format {header.magic}; only format {MAGIC_V2} is read")
    actual = crc32c(batch[CRC_START:])
    if header.crc != actual:
        raise CorruptBatch(f"CRC mismatch: stored {header.crc:08x}, computed {actual:08x}")


def _decoded(header: BatchHeader, raw: RawRecord) -> Record:
    return Record(
        offset=wrapped(header.base_offset + raw.offset_delta),
        timestamp=record_timestamp(header, raw),
        key=_bytes(raw.key),
        value=_bytes(raw.value),
        headers=tuple((str(key, "utf-8", "replace"), _bytes(value)) for key, value in raw.headers),
    )


def _view(data: bytes | None) -> memoryview | None:
    return None if data is None else memoryview(data)


def _bytes(view: memoryview | None) -> bytes | None:
    return None if view is None else bytes(view)
