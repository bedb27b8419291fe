"""Primitives: CRC-32C, 64-bit arithmetic and zigzag varints, with the limits of Java's readers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.records import InvalidBatch, crc32c
from dray.records.primitives import read_varint, read_varlong, wrapped, write_varlong
from tests.records.builders import reference_crc32c


def test_crc_of_the_check_value() -> None:
    assert crc32c(b"123456789") == reference_crc32c(b"123456789") == 0xE3069283


@given(st.binary(max_size=300), st.integers(0, 300))
def test_crc_can_be_computed_piece_by_piece_over_views(data: bytes, cut: int) -> None:
    view = memoryview(bytearray(data))
    assert crc32c(view[cut:], crc32c(view[:cut])) == reference_crc32c(data)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, 0), (2**63 - 1, 2**63 - 1), (2**63, -(2**63)), (-(2**63) - 1, 2**63 - 1), (3 * 2**63, -(2**63))],
)
def test_sums_wrap_at_64_bits(value: int, expected: int) -> None:
    assert wrapped(value) == expected


def _written(value: int) -> bytes:
    out = bytearray()
    write_varlong(out, value)
    return bytes(out)


@pytest.mark.parametrize(
    ("value", "hexed"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (2**31 - 1, "feffffff0f"),
        (-(2**31), "ffffffff0f"),
        (2**63 - 1, "feffffffffffffffff01"),
        (-(2**63), "ffffffffffffffffff01"),
    ],
)
def test_zigzag_numbers_have_known_bytes(value: int, hexed: str) -> None:
    assert _written(value).hex() == hexed
    assert read_varlong(memoryview(bytes.fromhex(hexed)), 0) == (value, len(hexed) // 2)


@given(st.integers(-(2**31), 2**31 - 1), st.binary(max_size=3))
def test_varints_round_trip(value: int, before: bytes) -> None:
    data = before + _written(value)
    assert read_varint(memoryview(data + b"rest"), len(before)) == (value, len(data))


@given(st.integers(-(2**63), 2**63 - 1))
def test_varlongs_round_trip(value: int) -> None:
    data = _written(value)
    assert read_varlong(memoryview(data), 0) == (value, len(data))


def test_integers_with_redundant_bytes_are_accepted() -> None:
    assert read_varint(memoryview(b"\x82\x80\x00"), 0) == (1, 3)


def test_varints_with_bits_beyond_32_are_invalid() -> None:
    assert read_varint(memoryview(b"\xff\xff\xff\xff\x0f"), 0) == (-(2**31), 5)
    with pytest.raises(InvalidBatch, match="more than 32 bits"):
        read_varint(memoryview(b"\x82\x80\x80\x80\x10"), 0)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x80\x80\x80\x80"])
def test_truncated_numbers_are_invalid(data: bytes) -> None:
    with pytest.raises(InvalidBatch, match="end inside"):
        read_varint(memoryview(data), 0)


def test_numbers_that_are_too_long_are_invalid() -> None:
    with pytest.raises(InvalidBatch, match="longer than 5 bytes"):
        read_varint(memoryview(b"\x80" * 5), 0)
    with pytest.raises(InvalidBatch, match="longer than 10 bytes"):
        read_varlong(memoryview(b"\x80" * 10 + b"\x00"), 0)
