"""Numbers and checksums of the record format: CRC-32C, 64-bit arithmetic, and zigzag varints.

CRC-32C (Castagnoli) comes from the `crc32c` package and not from `google-crc32c`: both use the processor's
instruction and run at about 20 GB/s on 16 KiB, but google-crc32c refuses a memoryview, so that every batch
sliced out of a request would have to be copied first. `crc32c` also releases the interpreter lock from 32 KiB
on.

Variable-length numbers hold 7 bits a byte, low ones first, with the sign in the lowest bit. As in Kafka's
Java code a varint takes at most 5 bytes and a varlong at most 10, and superfluous zero bytes are accepted.
Bits beyond 64 are dropped. A varint with bits beyond 32 is invalid: Java drops them, librdkafka does not, so
they would read differently. Plain Python, a byte at a time.
"""

from typing import Final

from crc32c import crc32c

from dray.records.errors import InvalidBatch

__all__ = ["crc32c", "read_varint", "read_varlong", "wrapped", "write_varlong"]

VARINT_BYTES_MAX: Final = 5
VARLONG_BYTES_MAX: Final = 10
_MASK_32: Final = 2**32 - 1
_MASK_64: Final = 2**64 - 1
_SIGN_64: Final = 2**63


def wrapped(value: int) -> int:
    """Return `value` as a signed 64-bit integer holds it: in Java, sums wrap."""
    return ((value + _SIGN_64) & _MASK_64) - _SIGN_64


def write_varlong(out: bytearray, value: int) -> None:
    """Append `value`; one that fits in 32 bits makes the same bytes as a varint."""
    zigzag = ((value << 1) ^ (value >> 63)) & _MASK_64
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)


def read_varint(view: memoryview, at: int) -> tuple[int, int]:
    """Return the 32-bit value at byte `at` and the position after it."""
    raw, end = _read_unsigned(view, at, VARINT_BYTES_MAX)
    if raw > _MASK_32:
        raise InvalidBatch(f"a variable-length number at byte {at} has more than 32 bits")
    return _unzigzag(raw), end


def read_varlong(view: memoryview, at: int) -> tuple[int, int]:
    """Return the 64-bit value at byte `at` and the position after it."""
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
