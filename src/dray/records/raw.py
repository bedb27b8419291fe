"""Records as they are encoded in a decompressed payload.

    length varint · attributes i8 · timestampDelta varlong · offsetDelta varint ·
    keyLength varint, key · valueLength varint, value · headerCount varint · headers
    header: keyLength varint, UTF-8 key · valueLength varint, value

A length below 0 means null; a header's key must not be null. Plain Python, one record at a time: for checks,
tests and tools, never for every record on the produce or fetch path.
"""

from typing import NamedTuple

from dray.records.errors import InvalidBatch
from dray.records.primitives import read_varint, read_varlong, write_varlong


class RawRecord(NamedTuple):
    """A record with its deltas; keys and values are views of the payload."""

    timestamp_delta: int
    offset_delta: int
    key: memoryview | None
    value: memoryview | None
    headers: tuple[tuple[memoryview, memoryview | None], ...]
    attributes: int = 0
    """Reserved: 0 in every known producer. librdkafka takes the timestamp type from bit 3."""


def read_record(payload: memoryview, at: int) -> tuple[RawRecord, int]:
    """Return the record at byte `at` and the position after it."""
    length, start = read_varint(payload, at)
    end = start + length
    if length < 0 or end > len(payload):
        raise InvalidBatch(f"a record at byte {at} has length {length}; expected 0 to {len(payload) - start}")
    record, actual_end = _read_body(payload[:end], start)
    if actual_end != end:
        raise InvalidBatch(f"a record at byte {at} has length {length}, its fields {actual_end - start}")
    return record, end


def write_record(out: bytearray, record: RawRecord) -> None:
    """Append the record; the inverse of `read_record`."""
    body = bytearray((record.attributes,))
    write_varlong(body, record.timestamp_delta)
    write_varlong(body, record.offset_delta)
    _write_bytes(body, record.key)
    _write_bytes(body, record.value)
    write_varlong(body, len(record.headers))
    for key, value in record.headers:
        _write_bytes(body, key)
        _write_bytes(body, value)
    write_varlong(out, len(body))
    out += body


def _read_body(view: memoryview, at: int) -> tuple[RawRecord, int]:
    timestamp_delta, position = read_varlong(view, at + 1)
    offset_delta, position = read_varint(view, position)
    key, position = _read_bytes(view, position)
    value, position = _read_bytes(view, position)
    headers, position = _read_headers(view, position)
    return RawRecord(timestamp_delta, offset_delta, key, value, headers, view[at]), position


def _read_headers(view: memoryview, at: int) -> tuple[tuple[tuple[memoryview, memoryview | None], ...], int]:
    count, position = read_varint(view, at)
    # Each header takes at least two bytes: a higher count is wrong, and is found before memory is allocated.
    if not 0 <= count <= (len(view) - position) // 2:
        raise InvalidBatch(f"a record has header count {count}, but only {len(view) - position} bytes remain")
    headers = []
    for _ in range(count):
        key, position = _read_bytes(view, position)
        if key is None:
            raise InvalidBatch(f"a header key is null, before byte {position}")
        value, position = _read_bytes(view, position)
        headers.append((key, value))
    return tuple(headers), position


def _read_bytes(view: memoryview, at: int) -> tuple[memoryview | None, int]:
    length, start = read_varint(view, at)
    if length < 0:
        return None, start
    if length > len(view) - start:
        raise InvalidBatch(
            f"a field at byte {at} has length {length}, but only {len(view) - start} bytes remain"
        )
    return view[start : start + length], start + length


def _write_bytes(out: bytearray, data: memoryview | None) -> None:
    if data is None:
        write_varlong(out, -1)
        return
    write_varlong(out, len(data))
    out += data
