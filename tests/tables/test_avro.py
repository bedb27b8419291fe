"""Bounds checks of the Avro decoder that PyIceberg uses."""

from collections.abc import Callable
from typing import Any

import pyiceberg.avro.file
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.avro.decoder import StreamingBinaryDecoder

from dray.tables.iceberg.avro import BoundedDecoder

LONG = b"\x80\x80\x80\x80\x80\x40"  # 2**40, zigzag-encoded
NEGATIVE = b"\x03"  # -2

READS: tuple[Callable[[Any], object], ...] = (
    lambda decoder: decoder.read(20),
    lambda decoder: decoder.read_int(),
    lambda decoder: decoder.read_ints(3),
    lambda decoder: decoder.read_bytes(),
    lambda decoder: decoder.read_utf8(),
    lambda decoder: decoder.skip(3),
    lambda decoder: decoder.skip_int(),
    lambda decoder: decoder.skip_bytes(),
    lambda decoder: decoder.skip_utf8(),
)


@pytest.mark.parametrize("length", [LONG, NEGATIVE, b"\x08"])
@pytest.mark.parametrize("read", ["read_bytes", "read_utf8", "skip_bytes", "skip_utf8"])
def test_length_beyond_the_end_is_an_error(length: bytes, read: str) -> None:
    with pytest.raises(ValueError, match=r"a length of -?\d+ bytes in an Avro file, with 3 bytes left"):
        getattr(BoundedDecoder(length + b"abc"), read)()


def test_map_with_too_many_entries_is_an_error() -> None:
    with pytest.raises(EOFError):
        BoundedDecoder(b"\x02\x02a").read_int_bytes_dict(1 << 40, {})


def test_end_of_the_buffer_is_the_end_of_the_file() -> None:
    decoder = BoundedDecoder(b"\x02")
    assert decoder.read_int() == 1
    with pytest.raises(EOFError, match="end of the Avro file"):
        decoder.read_int()


@given(st.binary(max_size=40), st.lists(st.sampled_from(READS), max_size=8))
def test_decoder_agrees_with_the_one_in_python(data: bytes, reads: list[Callable[[Any], object]]) -> None:
    bounded, plain = BoundedDecoder(data), StreamingBinaryDecoder(data)
    for read in reads:
        try:
            got = read(bounded)
        except (ValueError, EOFError):
            return
        assert bounded.tell() > len(data) or got == read(plain)


def test_pyiceberg_decodes_with_bounds_checks() -> None:
    assert pyiceberg.avro.file.new_decoder is BoundedDecoder  # type: ignore[attr-defined]
