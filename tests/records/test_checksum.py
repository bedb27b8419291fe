"""The checksum is CRC-32C, takes views, and can be carried on from piece to piece."""

from hypothesis import given
from hypothesis import strategies as st

from dray.records import crc32c
from tests.records.castagnoli import crc32c_by_the_book


def test_the_known_value() -> None:
    assert crc32c(b"123456789") == crc32c_by_the_book(b"123456789") == 0xE3069283


@given(st.binary(max_size=300), st.integers(0, 300))
def test_pieces_of_a_view_give_the_crc_of_the_whole(data: bytes, cut: int) -> None:
    view = memoryview(bytearray(data))
    assert crc32c(view[cut:], crc32c(view[:cut])) == crc32c_by_the_book(data)
