"""Zigzag numbers: known bytes, round trips, and the edges of Java's readers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.records import InvalidBatch
from dray.records.varint import read_varint, read_varlong, write_varlong


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
def test_known_bytes(value: int, hexed: str) -> None:
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


def test_needless_bytes_are_accepted() -> None:
    assert read_varint(memoryview(b"\x82\x80\x00"), 0) == (1, 3)


def test_bits_beyond_32_are_dropped() -> None:
    assert read_varint(memoryview(b"\x82\x80\x80\x80\x70"), 0) == (1, 5)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x80\x80\x80\x80"])
def test_numbers_cut_short(data: bytes) -> None:
    with pytest.raises(InvalidBatch, match="end inside"):
        read_varint(memoryview(data), 0)


def test_numbers_too_long() -> None:
    with pytest.raises(InvalidBatch, match="longer than 5 bytes"):
        read_varint(memoryview(b"\x80" * 5), 0)
    with pytest.raises(InvalidBatch, match="longer than 10 bytes"):
        read_varlong(memoryview(b"\x80" * 10 + b"\x00"), 0)
