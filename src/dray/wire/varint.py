"""Unsigned variable-length integers, and tagged fields.

Compiled functions call these for the rare cases; the common one, a single byte, is inlined.
"""

from typing import Final

from dray.wire.errors import BadLength, EncodeError, Truncated

STRING_BYTES_MAX: Final = 0x7FFF


def uvarint(buf: memoryview, pos: int, first: int) -> tuple[int, int]:
    """Decode the rest of an integer whose `first` byte, before `pos`, has the continuation bit."""
    second = buf[pos]
    if second < 0x80:
        return first & 0x7F | second << 7, pos + 1
    third = buf[pos + 1]
    value = first & 0x7F | (second & 0x7F) << 7 | (third & 0x7F) << 14
    if third < 0x80:
        return value, pos + 2
    fourth = buf[pos + 2]
    value |= (fourth & 0x7F) << 21
    if fourth < 0x80:
        return value, pos + 3
    fifth = buf[pos + 3]
    if fifth > 0x0F:
        raise BadLength
    return value | fifth << 28, pos + 4


def string_length(buf: memoryview, pos: int, first: int) -> tuple[int, int]:
    """Decode the rest of a string's length plus one; Kafka limits strings to 32,767 bytes."""
    value, pos = uvarint(buf, pos, first)
    if value > STRING_BYTES_MAX + 1:
        raise BadLength
    return value, pos


def tag_head(buf: memoryview, pos: int) -> tuple[int, int, int]:
    """Decode the head of a tagged field: its tag, and the start and end of its data."""
    tag, pos = _whole_uvarint(buf, pos)
    size, pos = _whole_uvarint(buf, pos)
    stop = pos + size
    if stop > len(buf):
        raise Truncated
    return tag, pos, stop


def skip_tags(buf: memoryview, pos: int, count: int) -> int:
    """Skip unknown tagged fields; `count` is the first byte of their number."""
    if count > 0x7F:
        count, pos = uvarint(buf, pos, count)
    for _ in range(count):
        _, _, pos = tag_head(buf, pos)
    return pos


def _whole_uvarint(buf: memoryview, pos: int) -> tuple[int, int]:
    first = buf[pos]
    return (first, pos + 1) if first < 0x80 else uvarint(buf, pos + 1, first)


def uvarint_bytes(value: int) -> bytes:
    """Encode an unsigned variable-length integer."""
    if value < 0x80:
        return bytes((value,))
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    if value < 0x200000:
        return bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14))
    low = (value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14 & 0x7F | 0x80)
    return bytes(low) + uvarint_bytes(value >> 21)


def string_length_bytes(value: int) -> bytes:
    """Encode a string's length plus one."""
    if value > STRING_BYTES_MAX + 1:
        raise EncodeError(f"a string of {value - 1} bytes is longer than {STRING_BYTES_MAX}")
    return uvarint_bytes(value)
