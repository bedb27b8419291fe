"""Compiled encoding of columns to records: one pass cuts batches and measures records, one writes them.

`plan` reads numbers and lengths only, so that batches are cut before a byte is written and the output is
allocated exactly. `write` then follows the plan. Columns reach the kernels as numbers and as addresses;
`sources` resolves Arrow's slices before. Batch headers are not written: 61 bytes are left free for each.

The bytes are those of Apache Kafka's own builder for these records, with the shortest varints.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dray.records.columns.compiled import compiled, copy, load, load_int32, load_int64, store
from dray.records.columns.schema import LATIN_1
from dray.records.header import HEADER_BYTES, LOG_APPEND_BIT

Ints = NDArray[np.int64]


class BytesSource(NamedTuple):
    """Addresses of a column of bytes: the bytes, the ends of values (32 bits each), the validity bits.

    The bits of the rows begin with `first_bit`; their address is 0 if all rows are valid.
    """

    data: int
    ends: int
    validity: int
    first_bit: int


class Source(NamedTuple):
    """Addresses of the columns of some rows; `header_ends` counts headers, which are the last two columns.

    Not arrays, because numba counts references to arrays at every call, which takes a third of the speed.
    """

    rows: int
    offsets: int
    millis: int
    attributes: int
    header_ends: int
    key: BytesSource
    value: BytesSource
    header_key: BytesSource
    header_value: BytesSource


# The columns of the table of batches that `plan` writes.
FIRST_ROW: Final = 0
START: Final = 1
BATCH_COLUMNS: Final = 2

VALID: Final = 0
NOT_ASCENDING: Final = 1
NOT_LATIN_1: Final = 2
TOO_LARGE: Final = 3

RECORD_BYTES_MAX: Final = 2**31 - 128
"""A batch of one such record, with its header, stays below 2 GiB."""


_MASK_57: Final = 2**57 - 1
"""The bits left of a 64-bit number after a logical shift by 7."""


@compiled
def _varint_bytes(value: int) -> int:
    left = (value << 1) ^ (value >> 63)
    count = 1
    while left & ~0x7F:
        left = (left >> 7) & _MASK_57
        count += 1
    return count


@compiled
def _put_varint(at: int, value: int) -> int:
    left = (value << 1) ^ (value >> 63)
    while left & ~0x7F:
        store(at, left & 0x7F | 0x80)
        left = (left >> 7) & _MASK_57
        at += 1
    store(at, left)
    return at + 1


@compiled
def _length(ends: int, row: int) -> int:
    return load_int32(ends, row + 1) - load_int32(ends, row)


@compiled
def _is_null(column: BytesSource, row: int) -> bool:
    if column.validity == 0:
        return False
    bit = column.first_bit + row
    return load(column.validity + (bit >> 3)) >> (bit & 7) & 1 == 0


@compiled
def _field_bytes(column: BytesSource, row: int) -> int:
    if _is_null(column, row):
        return 1
    length = _length(column.ends, row)
    return _varint_bytes(length) + length


@compiled
def _latin_1_bytes(column: BytesSource, row: int) -> int:
    """Return the number of bytes that a text encodes, one character each; -1 if one is beyond Latin-1."""
    at, end = column.data + load_int32(column.ends, row), column.data + load_int32(column.ends, row + 1)
    count = 0
    while at < end:
        first = load(at)
        if first >= 0x80:
            if first < 0xC2 or first > 0xC3 or at + 1 == end:
                return -1
            at += 1
        at += 1
        count += 1
    return count


@compiled
def _headers_bytes(source: Source, row: int) -> int:
    """Return the size of a row's headers, with their count; -1 if the bytes of a key cannot be restored."""
    latin_1 = load_int32(source.attributes, row) & LATIN_1 != 0
    total = _varint_bytes(_length(source.header_ends, row))
    for header in range(load_int32(source.header_ends, row), load_int32(source.header_ends, row + 1)):
        keys = source.header_key
        length = _latin_1_bytes(keys, header) if latin_1 else _length(keys.ends, header)
        if length < 0:
            return -1
        total += _varint_bytes(length) + length + _field_bytes(source.header_value, header)
    return total


@compiled
def _fixed_bytes(source: Source, row: int) -> int:
    """Return the size of a record without its deltas; -1 as in `_headers_bytes`."""
    headers = _headers_bytes(source, row)
    if headers < 0:
        return -1
    return 1 + _field_bytes(source.key, row) + _field_bytes(source.value, row) + headers


@compiled
def plan(
    source: Source, batch_bytes: int, span_max: int, lengths: Ints, batches: Ints
) -> tuple[int, int, int, int]:
    """Fill `batches`, and `lengths` with the length field of each record.

    Returns a fault, its row, the number of batches, and their total size.
    """
    count = position = start = 0
    base = base_millis = 0
    stamped = False
    previous = -1
    for row in range(source.rows):
        offset, millis = load_int64(source.offsets, row), load_int64(source.millis, row)
        if offset <= previous:
            return NOT_ASCENDING, row, 0, 0
        previous = offset
        fixed = _fixed_bytes(source, row)
        if fixed < 0:
            return NOT_LATIN_1, row, 0, 0
        row_stamped = load_int32(source.attributes, row) & LOG_APPEND_BIT != 0
        length = fixed + _varint_bytes(millis - base_millis) + _varint_bytes(offset - base)
        fits = position - start + _varint_bytes(length) + length <= batch_bytes and offset - base <= span_max
        alike = row_stamped == stamped and (millis == base_millis or not stamped)
        if row == 0 or not fits or not alike:
            base, base_millis, stamped, start = offset, millis, row_stamped, position
            batches[count, FIRST_ROW] = row
            batches[count, START] = position
            count += 1
            position += HEADER_BYTES
            length = fixed + 2  # both deltas are 0
        if length > RECORD_BYTES_MAX:
            return TOO_LARGE, row, 0, 0
        lengths[row] = length
        position += _varint_bytes(length) + length
    return VALID, 0, count, position


@compiled
def _put_field(at: int, column: BytesSource, row: int) -> int:
    if _is_null(column, row):
        store(at, 1)
        return at + 1
    length = _length(column.ends, row)
    at = _put_varint(at, length)
    copy(at, column.data + load_int32(column.ends, row), length)
    return at + length


@compiled
def _put_latin_1(at: int, column: BytesSource, row: int) -> int:
    """As `_put_field`, with each Latin-1 character written as one byte."""
    start, end = column.data + load_int32(column.ends, row), column.data + load_int32(column.ends, row + 1)
    at = _put_varint(at, _latin_1_bytes(column, row))
    while start < end:
        byte = load(start)
        if byte >= 0x80:
            start += 1
            byte = (byte & 0x03) << 6 | load(start) & 0x3F
        store(at, byte)
        at += 1
        start += 1
    return at


@compiled
def _put_headers(at: int, source: Source, row: int) -> int:
    at = _put_varint(at, _length(source.header_ends, row))
    for header in range(load_int32(source.header_ends, row), load_int32(source.header_ends, row + 1)):
        if load_int32(source.attributes, row) & LATIN_1:
            at = _put_latin_1(at, source.header_key, header)
        else:
            at = _put_field(at, source.header_key, header)
        at = _put_field(at, source.header_value, header)
    return at


@compiled
def write(source: Source, lengths: Ints, batches: Ints, out: int) -> None:
    """Write the records of all batches at their planned positions, from the address `out` on."""
    for number in range(len(batches)):
        first = batches[number, FIRST_ROW]
        last = batches[number + 1, FIRST_ROW] if number + 1 < len(batches) else source.rows
        base, base_millis = load_int64(source.offsets, first), load_int64(source.millis, first)
        at = out + batches[number, START] + HEADER_BYTES
        for row in range(first, last):
            at = _put_varint(at, lengths[row])
            store(at, 0)
            at = _put_varint(at + 1, load_int64(source.millis, row) - base_millis)
            at = _put_varint(at, load_int64(source.offsets, row) - base)
            at = _put_field(at, source.key, row)
            at = _put_field(at, source.value, row)
            at = _put_headers(at, source, row)
