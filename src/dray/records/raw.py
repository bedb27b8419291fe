"""One record as it lies in a decompressed payload.

    length varint · attributes i8 · timestampDelta varlong · offsetDelta varint ·
    keyLength varint, key · valueLength varint, value · headerCount varint · headers
    header: keyLength varint, UTF-8 key · valueLength varint, value

A length below 0 stands for null, except for a header's key, which must not be null. Plain Python, a
record at a time: for checks, tests and tools. Nothing on a broker's way of every record may use it.
"""

from typing import NamedTuple

from dray.records.errors import InvalidBatch
from dray.records.varint import read_varint, read_varlong, write_varlong


class RawRecord(NamedTuple):
    """A record with its deltas; keys and values are views of the payload."""

    timestamp_delta: int
    offset_delta: int
    key: memoryview | None
    value: memoryview | None
    headers: tuple[tuple[memoryview, memoryview | None], ...]


def read_record(payload: memoryview, at: int) -> tuple[RawRecord, int]:
    """Return the record at byte `at` and the position behind it."""
    length, start = read_varint(payload, at)
    end = start + length
    if length < 0 or end > len(payload):
        raise InvalidBatch(
            f"a record at byte {at} claims {length} bytes, there are {len(payload) - start} left"
        )
    record, actual_end = _read_body(payload[:end], start)
    if actual_end != end:
        raise InvalidBatch(f"a record at byte {at} claims {length} bytes but has {actual_end - start}")
    return record, end


def write_record(out: bytearray, record: RawRecord) -> None:
    """Append the record; the inverse of `read_record`."""
    body = bytearray(1)
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
    return RawRecord(timestamp_delta, offset_delta, key, value, headers), position


def _read_headers(view: memoryview, at: int) -> tuple[tuple[tuple[memoryview, memoryview | None], ...], int]:
    count, position = read_varint(view, at)
    # Each header takes two bytes or more: a count beyond that is a lie, found before anything is made of it.
    if not 0 <= count <= (len(view) - position) // 2:
        raise InvalidBatch(f"a record claims {count} headers in {len(view) - position} bytes")
    headers = []
    for _ in range(count):
        key, position = _read_bytes(view, position)
        if key is None:
            raise InvalidBatch(f"a record header has no key, before byte {position}")
        value, position = _read_bytes(view, position)
        headers.append((key, value))
    return tuple(headers), position


def _read_bytes(view: memoryview, at: int) -> tuple[memoryview | None, int]:
    length, start = read_varint(view, at)
    if length < 0:
        return None, start
    if length > len(view) - start:
        raise InvalidBatch(f"{length} bytes are claimed at byte {at}, there are {len(view) - start}")
    return view[start : start + length], start + length


def _write_bytes(out: bytearray, data: memoryview | None) -> None:
    if data is None:
        write_varlong(out, -1)
        return
    write_varlong(out, len(data))
    out += data
