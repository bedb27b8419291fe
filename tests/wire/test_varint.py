"""Variable-length integers, at the values where a byte is added."""

import io

import pytest
from kio.serial.writers import write_unsigned_varint
from kio.static.primitive import uvarint as kio_uvarint

from dray.wire.errors import BadLength
from dray.wire.varint import uvarint, uvarint_bytes

EDGES = [
    edge + step for edge in (0, 2**7, 2**14, 2**21, 2**28, 2**31) for step in (-1, 0, 1) if edge + step >= 0
]


@pytest.mark.parametrize("value", [*EDGES, 2**32 - 1])
def test_integers_are_encoded_as_by_kio_and_decoded_again(value: int) -> None:
    data = uvarint_bytes(value)
    if value < 2**31:
        buffer = io.BytesIO()
        write_unsigned_varint(buffer, kio_uvarint(value))
        assert data == buffer.getvalue()
    if value > 0x7F:
        assert uvarint(memoryview(data + b"more"), 1, data[0]) == (value, len(data))
    else:
        assert data == bytes((value,))


@pytest.mark.parametrize("last", [0x10, 0x7F, 0x80, 0xFF])
def test_integer_beyond_32_bits_is_refused(last: int) -> None:
    with pytest.raises(BadLength):
        uvarint(memoryview(bytes((0xFF, 0xFF, 0xFF, last, 0))), 0, 0xFF)


def test_integers_with_redundant_bytes_are_accepted() -> None:
    assert uvarint(memoryview(b"\x80\x80\x80\0"), 0, 0x81) == (1, 4)
