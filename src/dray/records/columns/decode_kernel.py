"""Records to columns, compiled: one pass that checks and counts, one that copies and trusts.

`measure` reads every byte of a record except keys and values, holds it to the format, and adds up what the
columns will take; so the columns are allocated exactly, and a lie costs nothing but its own bytes. `fill`
reads the same bytes again and copies. Positions are addresses. A length is compared with what is left
(`length > end - at`), because a sum could overflow. A faulty read returns the position 0, which is no
address.

The format is that of `dray.records.raw`, to the bit: a varint takes at most 5 bytes, a varlong 10, bits
beyond 32 and 64 are dropped. What is asked beyond it: offsets ascend, and stay within the span that the
header tells, because a table, unlike a log, is read by offset.

Header keys become text. A record with a key that is not UTF-8 gets `LATIN_1` in its attributes, and all its
header keys are read as Latin-1: every byte a character, so that the bytes can be had again.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dray.records.columns.compiled import compiled
from dray.records.columns.memory import copy, load, load_int32, store, store_int32, store_int64
from dray.records.columns.schema import LATIN_1
from dray.records.header import LOG_APPEND_BIT

Ints = NDArray[np.int64]


class BytesTarget(NamedTuple):
    """A column of bytes to be filled, by addresses: of the bytes, of their ends, of a flag for each that is
    valid.

    Ends have 32 bits; there is one more than there are rows, and the first one, 0, is there already.
    """

    data: int
    ends: int
    valid: int


class Target(NamedTuple):
    """The columns to be filled, by addresses; `header_ends` counts headers, which have the last two columns.

    Addresses and not arrays, because numba counts references to arrays at every call.
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

# What the columns take, in bytes, except for HEADERS, which is a count.
KEYS: Final = 0
VALUES: Final = 1
HEADERS: Final = 2
HEADER_KEYS: Final = 3
HEADER_VALUES: Final = 4
TOTALS: Final = 5

# What can be wrong with a record.
SOUND: Final = 0
ENDS_EARLY: Final = 1
RECORD_LENGTH: Final = 2
FIELD_LENGTH: Final = 3
HEADER_COUNT: Final = 4
HEADER_KEY_NULL: Final = 5
LENGTH_DIFFERS: Final = 6
OFFSET_ORDER: Final = 7
BYTES_LEFT: Final = 8

MILLIS_MAX: Final = (2**63 - 1) // 1000
"""The last millisecond that microseconds can tell. Later ones become this one; those before its negative,
that."""

_BAD: Final = 0
_MASK_32: Final = 2**32 - 1
_MASK_63: Final = 2**63 - 1


@compiled
def _read_raw(at: int, end: int, bytes_max: int) -> tuple[int, int]:
    raw = 0
    stop = min(end, at + bytes_max)
    shift = 0
    while at < stop:
        byte = load(at)
        at += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return raw, at
        shift += 7
    return 0, _BAD


@compiled
def _read_varint(at: int, end: int) -> tuple[int, int]:
    raw, at = _read_raw(at, end, 5)
    raw &= _MASK_32
    return (raw >> 1) ^ -(raw & 1), at


@compiled
def _read_varlong(at: int, end: int) -> tuple[int, int]:
    raw, at = _read_raw(at, end, 10)
    return ((raw >> 1) & _MASK_63) ^ -(raw & 1), at


@compiled
def _is_follower(at: int, end: int, low: int, high: int) -> bool:
    """Whether there is a byte, and between these bounds."""
    if at >= end:
        return False
    byte = load(at)
    return low <= byte <= high


@compiled
def _character_bytes(at: int, end: int) -> int:
    """How long the UTF-8 character at this position is; 0 if there is none."""
    first = load(at)
    if first < 0x80:
        return 1
    if first < 0xC2 or first > 0xF4:
        return 0
    length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    # No second way to write a character, no surrogates, nothing beyond U+10FFFF.
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
    """How many bytes Latin-1 would need two for."""
    count = 0
    for position in range(at, end):
        count += load(position) >> 7
    return count


@compiled
def _read_length(at: int, end: int) -> tuple[int, int]:
    """The length of a field that fits into what is left, -1 for null, and where its bytes begin."""
    length, at = _read_varint(at, end)
    if at == _BAD or length > end - at:
        return 0, _BAD
    return max(length, -1), at


@compiled
def _measure_headers(at: int, end: int, totals: Ints) -> tuple[int, int, int]:
    """Return a fault, the position behind the headers, and `LATIN_1` if their keys must be read so."""
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
    return SOUND, at, 0 if text else LATIN_1


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
        return SOUND, at + 1, 0
    return _measure_headers(at, end, totals)


@compiled
def _measure_record(at: int, end: int, totals: Ints) -> tuple[int, int, int, int]:
    """Return a fault, the position behind the record, its offset delta, and `LATIN_1` or 0."""
    length, at = _read_varint(at, end)
    if at == _BAD:
        return FIELD_LENGTH, _BAD, 0, 0
    if length < 1 or length > end - at:
        return RECORD_LENGTH, _BAD, 0, 0
    end = at + length
    _, at = _read_varlong(at + 1, end)
    if at == _BAD:
        return FIELD_LENGTH, _BAD, 0, 0
    delta, at = _read_varint(at, end)
    if at == _BAD:
        return FIELD_LENGTH, _BAD, 0, 0
    fault, at, latin_1 = _measure_fields(at, end, totals)
    if fault == SOUND and at != end:
        return LENGTH_DIFFERS, _BAD, 0, 0
    return fault, at, delta, latin_1


@compiled
def measure(batches: Ints, attributes: int, totals: Ints) -> tuple[int, int, int]:
    """Check all records, add up what they take, and write the rows' attributes.

    Returns a fault, and where it is: the number of the batch, and of the record in it.
    """
    row = 0
    for number in range(len(batches)):
        at = batches[number, ADDRESS]
        end = at + batches[number, SIZE]
        previous = -1
        for record in range(batches[number, COUNT]):
            if at >= end:
                return ENDS_EARLY, number, record
            fault, at, delta, latin_1 = _measure_record(at, end, totals)
            if fault != SOUND:
                return fault, number, record
            if delta <= previous or delta > batches[number, LAST_DELTA]:
                return OFFSET_ORDER, number, record
            previous = delta
            store_int32(attributes, row, batches[number, ATTRIBUTES] | latin_1)
            row += 1
        if at != end:
            return BYTES_LEFT, number, batches[number, COUNT]
    return SOUND, 0, 0


@compiled
def _micros(millis: int) -> int:
    return min(max(millis, -MILLIS_MAX), MILLIS_MAX) * 1000


@compiled
def _take(at: int, end: int, column: BytesTarget, row: int) -> int:
    """Copy one field behind what the column has already; returns the position behind it."""
    length, at = _read_varint(at, end)
    used = load_int32(column.ends, row)
    store(column.valid + row, length >= 0)
    length = max(length, 0)
    copy(column.data + used, at, length)
    store_int32(column.ends, row + 1, used + length)
    return at + length


@compiled
def _take_latin_1(at: int, end: int, column: BytesTarget, row: int) -> int:
    """As `_take`, with every byte written as the character of its number."""
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
    """Copy what `measure` found sound."""
    row = header = 0
    for number in range(len(batches)):
        at = batches[number, ADDRESS]
        end = at + batches[number, SIZE]
        stamped = batches[number, ATTRIBUTES] & LOG_APPEND_BIT
        for _ in range(batches[number, COUNT]):
            _, at = _read_varint(at, end)
            timestamp, at = _read_varlong(at + 1, end)
            delta, at = _read_varint(at, end)
            timestamp += batches[number, BASE_TIMESTAMP]
            if stamped:
                timestamp = batches[number, APPEND_TIMESTAMP]
            store_int64(target.timestamps, row, _micros(timestamp))
            store_int64(target.offsets, row, batches[number, BASE_OFFSET] + delta)
            at = _take(at, end, target.key, row)
            at = _take(at, end, target.value, row)
            count, at = _read_varint(at, end)
            for _ in range(count):
                at = _take_header(at, end, target, header, load_int32(target.attributes, row) & LATIN_1)
                header += 1
            row += 1
            store_int32(target.header_ends, row, header)
