"""Zigzag variable-length integers, as inside records: 7 bits a byte, low ones first, sign in the lowest bit.

As in Kafka's Java code, a varint takes at most 5 bytes and a varlong at most 10, needless zero bytes are
accepted, and bits beyond 32 or 64 are dropped. Plain Python, a byte at a time.
"""

from typing import Final

from dray.records.errors import InvalidBatch

VARINT_BYTES_MAX: Final = 5
VARLONG_BYTES_MAX: Final = 10
_MASK_32: Final = 2**32 - 1
_MASK_64: Final = 2**64 - 1


def write_varlong(out: bytearray, value: int) -> None:
    """Append `value`; one that fits in 32 bits makes the same bytes as a varint."""
    zigzag = ((value << 1) ^ (value >> 63)) & _MASK_64
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)


def read_varint(view: memoryview, at: int) -> tuple[int, int]:
    """Return the 32-bit value at byte `at` and the position behind it."""
    raw, end = _read_unsigned(view, at, VARINT_BYTES_MAX)
    return _unzigzag(raw & _MASK_32), end


def read_varlong(view: memoryview, at: int) -> tuple[int, int]:
    """Return the 64-bit value at byte `at` and the position behind it."""
    raw, end = _read_unsigned(view, at, VARLONG_BYTES_MAX)
    return _unzigzag(raw & _MASK_64), end


def _unzigzag(raw: int) -> int:
    return (raw >> 1) ^ -(raw & 1)


def _read_unsigned(view: memoryview, at: int, bytes_max: int) -> tuple[int, int]:
    raw = shift = 0
    for position in range(at, min(at + bytes_max, len(view))):
        byte = view[position]
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return raw, position + 1
        shift += 7
    if at + bytes_max > len(view):
        raise InvalidBatch(f"the records end inside a variable-length number at byte {at}")
    raise InvalidBatch(f"a variable-length number at byte {at} is longer than {bytes_max} bytes")
