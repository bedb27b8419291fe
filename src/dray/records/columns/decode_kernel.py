"""Compiled decoding of records to columns: one pass validates and measures, a second one copies.

`measure` reads every byte of a record except keys and values, validates the format, and adds up the sizes of
the columns; so the columns are allocated exactly, and a wrong length costs no memory. `fill` reads the same
bytes again and copies. Positions are addresses. A length is compared with the bytes left
(`length > end - at`), because a sum could overflow. A failed read returns the position 0, which is no
address.

The format is that of `dray.records.raw`, to the bit: a varint takes at most 5 bytes and 32 bits, a varlong
10 and 64. A table, unlike a log, is read by offset and in microseconds. So offsets must also ascend and stay
within the range of the header, and times must fit. No column holds the attributes of a record, so they must
be 0: some clients take the timestamp type from them.

Header keys become text. A record with a key that is not UTF-8 gets `LATIN_1` in its attributes, and all its
header keys are read as Latin-1: each byte becomes a character, so that the bytes can be restored.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dray.records.columns.compiled import compiled, copy, load, load_int32, store, store_int32, store_int64
from dray.records.columns.schema import LATIN_1
from dray.records.header import LOG_APPEND_BIT

Ints = NDArray[np.int64]


class BytesTarget(NamedTuple):
    """Addresses of a column of bytes to be filled: the bytes, the ends of values, a validity flag for each.

    Ends are 32-bit; there is one more than there are rows, and the first one, 0, is set already.
    """

    data: int
    ends: int
    valid: int


class Target(NamedTuple):
    """Addresses of the columns to be filled; `header_ends` counts headers, which are the last two columns.

    Not arrays, because numba counts references to arrays at every call.
    """

    offsets: int
    timestamps: int
    attributes: int
    header_ends: int
    key: BytesTarget
    value: BytesTarget
    header_key: BytesTarget
    header_value: BytesTarget


# The columns of the table of batches.
ADDRESS: Final = 0
SIZE: Final = 1
COUNT: Final = 2
BASE_OFFSET: Final = 3
LAST_DELTA: Final = 4
BASE_TIMESTAMP: Final = 5
APPEND_TIMESTAMP: Final = 6
ATTRIBUTES: Final = 7
BATCH_COLUMNS: Final = 8

# Sizes of the columns in bytes, except HEADERS, which is a count.
KEYS: Final = 0
VALUES: Final = 1
HEADERS: Final = 2
HEADER_KEYS: Final = 3
HEADER_VALUES: Final = 4
TOTALS: Final = 5

# Faults of a record.
VALID: Final = 0
ENDS_EARLY: Final = 1
RECORD_LENGTH: Final = 2
FIELD_LENGTH: Final = 3
HEADER_COUNT: Final = 4
HEADER_KEY_NULL: Final = 5
LENGTH_DIFFERS: Final = 6
OFFSET_ORDER: Final = 7
BYTES_LEFT: Final = 8
TIMESTAMP_RANGE: Final = 9
RECORD_ATTRIBUTES: Final = 10

MILLIS_MAX: Final = (2**63 - 1) // 1000
"""The last millisecond that 64 bits of microseconds can hold; the first is its negative."""

_BAD: Final = 0
_MASK_63: Final = 2**63 - 1


@compiled
def _read_varint(at: int, end: int) -> tuple[int, int]:
    raw = shift = 0
    stop = min(end, at + 4)
    while at < stop:
        byte = load(at)
        at += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), at
        shift += 7
    if shift < 28 or at >= end:
        return 0, _BAD
    byte = load(at)
    if byte > 0x0F:  # a further byte, or bits beyond 32, which some clients drop and others do not
        return 0, _BAD
    raw |= byte << 28
    return (raw >> 1) ^ -(raw & 1), at + 1


@compiled
def _read_varlong(at: int, end: int) -> tuple[int, int]:
    raw = shift = 0
    stop = min(end, at + 10)
    while at < stop:
        byte = load(at)
        at += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return ((raw >> 1) & _MASK_63) ^ -(raw & 1), at
        shift += 7
    return 0, _BAD


@compiled
def _is_follower(at: int, end: int, low: int, high: int) -> bool:
    """Return whether there is a byte between these bounds."""
    if at >= end:
        return False
    byte = load(at)
    return low <= byte <= high


@compiled
def _character_bytes(at: int, end: int) -> int:
    """Return the length of the UTF-8 character at this position; 0 if it is none."""
    first = load(at)
    if first < 0x80:
        return 1
    if first < 0xC2 or first > 0xF4:
        return 0
    length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    # No overlong encodings, no surrogates, nothing beyond U+10FFFF.
    low = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80
    high = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF
    if not _is_follower(at + 1, end, low, high):
        return 0
    for position in range(at + 2, at + length):
        if not _is_follower(position, end, 0x80, 0xBF):
            return 0
    return length


@compiled
def _is_text(at: int, end: int) -> bool:
    while at < end:
        length = _character_bytes(at, end)
        if length == 0:
            return False
        at += length
    return True


@compiled
def _high_bytes(at: int, end: int) -> int:
    """Return how many bytes take two as UTF-8 when they are read as Latin-1."""
    count = 0
    for position in range(at, end):
        count += load(position) >> 7
    return count


@compiled
def _read_length(at: int, end: int) -> tuple[int, int]:
    """Return the length of a field that fits into the bytes left, -1 for null, and where its bytes begin."""
    length, at = _read_varint(at, end)
    if at == _BAD or length > end - at:
        return 0, _BAD
    return max(length, -1), at


@compiled
def _measure_headers(at: int, end: int, totals: Ints) -> tuple[int, int, int]:
    """Return a fault, the position after the headers, and `LATIN_1` if their keys must be read so."""
    count, at = _read_varint(at, end)
    if at == _BAD:
        return FIELD_LENGTH, _BAD, 0
    # Each header takes two bytes or more.
    if count < 0 or count > (end - at) // 2:
        return HEADER_COUNT, _BAD, 0
    key_bytes, high_bytes, text = 0, 0, True
    for _ in range(count):
        length, start = _read_length(at, end)
        if start == _BAD:
            return FIELD_LENGTH, _BAD, 0
        if length < 0:
            return HEADER_KEY_NULL, _BAD, 0
        at = start + length
        key_bytes += length
        high_bytes += _high_bytes(start, at)
        text = text and _is_text(start, at)
        length, start = _read_length(at, end)
        if start == _BAD:
            return FIELD_LENGTH, _BAD, 0
        at = start + max(length, 0)
        totals[HEADER_VALUES] += max(length, 0)
    totals[HEADERS] += count
    totals[HEADER_KEYS] += key_bytes if text else key_bytes + high_bytes
    return VALID, at, 0 if text else LATIN_1


@compiled
def _measure_fields(at: int, end: int, totals: Ints) -> tuple[int, int, int]:
    """As `_measure_headers`, from the key on."""
    length, start = _read_length(at, end)
    if start == _BAD:
        return FIELD_LENGTH, _BAD, 0
    at = start + max(length, 0)
    totals[KEYS] += max(length, 0)
    length, start = _read_length(at, end)
    if start == _BAD:
        return FIELD_LENGTH, _BAD, 0
    at = start + max(length, 0)
    totals[VALUES] += max(length, 0)
    if at < end and load(at) == 0:  # no headers, as most records
        return VALID, at + 1, 0
    return _measure_headers(at, end, totals)


@compiled
def _measure_record(at: int, end: int, totals: Ints) -> tuple[int, int, int, int, int]:
    """Return a fault, the position after the record, its two deltas, and `LATIN_1` or 0."""
    length, at = _read_varint(at, end)
    if at == _BAD:
        return FIELD_LENGTH, _BAD, 0, 0, 0
    if length < 1 or length > end - at:
        return RECORD_LENGTH, _BAD, 0, 0, 0
    end = at + length
    if load(at) != 0:
        return RECORD_ATTRIBUTES, _BAD, 0, 0, 0
    delta = 0
    timestamp_delta, at = _read_varlong(at + 1, end)
    if at != _BAD:
        delta, at = _read_varint(at, end)
    if at == _BAD:
        return FIELD_LENGTH, _BAD, 0, 0, 0
    fault, at, latin_1 = _measure_fields(at, end, totals)
    if fault == VALID and at != end:
        return LENGTH_DIFFERS, _BAD, 0, 0, 0
    return fault, at, timestamp_delta, delta, latin_1


@compiled
def _time_of(batches: Ints, number: int, timestamp_delta: int) -> int:
    """Return the time that a consumer reads; it wraps at 64 bits as in Java."""
    stamped = batches[number, ATTRIBUTES] & LOG_APPEND_BIT
    time: int = (
        batches[number, APPEND_TIMESTAMP] if stamped else batches[number, BASE_TIMESTAMP] + timestamp_delta
    )
    return time


@compiled
def measure(batches: Ints, attributes: int, totals: Ints) -> tuple[int, int, int]:
    """Validate all records, add up their sizes, and write the attributes of the rows.

    Returns a fault and its place: the number of the batch, and of the record in it.
    """
    row = 0
    for number in range(len(batches)):
        at = batches[number, ADDRESS]
        end = at + batches[number, SIZE]
        previous = -1
        for record in range(batches[number, COUNT]):
            if at >= end:
                return ENDS_EARLY, number, record
            fault, at, timestamp_delta, delta, latin_1 = _measure_record(at, end, totals)
            if fault != VALID:
                return fault, number, record
            time = _time_of(batches, number, timestamp_delta)
            if time > MILLIS_MAX or time < -MILLIS_MAX:
                return TIMESTAMP_RANGE, number, record
            if delta <= previous or delta > batches[number, LAST_DELTA]:
                return OFFSET_ORDER, number, record
            previous = delta
            store_int32(attributes, row, batches[number, ATTRIBUTES] | latin_1)
            row += 1
        if at != end:
            return BYTES_LEFT, number, batches[number, COUNT]
    return VALID, 0, 0


@compiled
def _take(at: int, end: int, column: BytesTarget, row: int) -> int:
    """Append one field to the column; returns the position after it."""
    length, at = _read_varint(at, end)
    used = load_int32(column.ends, row)
    store(column.valid + row, length >= 0)
    length = max(length, 0)
    copy(column.data + used, at, length)
    store_int32(column.ends, row + 1, used + length)
    return at + length


@compiled
def _take_latin_1(at: int, end: int, column: BytesTarget, row: int) -> int:
    """As `_take`, with each byte written as the Latin-1 character that it is."""
    length, at = _read_varint(at, end)
    to = column.data + load_int32(column.ends, row)
    for position in range(at, at + length):
        byte = load(position)
        if byte < 0x80:
            store(to, byte)
            to += 1
        else:
            store(to, 0xC0 | (byte >> 6))
            store(to + 1, 0x80 | (byte & 0x3F))
            to += 2
    store_int32(column.ends, row + 1, to - column.data)
    return at + length


@compiled
def _take_header(at: int, end: int, target: Target, header: int, latin_1: int) -> int:
    if latin_1:
        at = _take_latin_1(at, end, target.header_key, header)
    else:
        at = _take(at, end, target.header_key, header)
    return _take(at, end, target.header_value, header)


@compiled
def fill(batches: Ints, target: Target) -> None:
    """Copy records that `measure` found valid."""
    row = header = 0
    for number in range(len(batches)):
        at = batches[number, ADDRESS]
        end = at + batches[number, SIZE]
        for _ in range(batches[number, COUNT]):
            _, at = _read_varint(at, end)
            timestamp_delta, at = _read_varlong(at + 1, end)
            delta, at = _read_varint(at, end)
            store_int64(target.timestamps, row, _time_of(batches, number, timestamp_delta) * 1000)
            store_int64(target.offsets, row, batches[number, BASE_OFFSET] + delta)
            at = _take(at, end, target.key, row)
            at = _take(at, end, target.value, row)
            count, at = _read_varint(at, end)
            for _ in range(count):
                at = _take_header(at, end, target, header, load_int32(target.attributes, row) & LATIN_1)
                header += 1
            row += 1
            store_int32(target.header_ends, row, header)
