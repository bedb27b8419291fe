"""LZ4 frames as Java's reader accepts them: independent blocks of at most 64 KiB."""

import struct

import pytest
from cramjam import DecompressionError, lz4
from hypothesis import given
from hypothesis import strategies as st

from dray.records.lz4_frame import frame

BLOCK = 64 * 1024
STORED = 1 << 31


def blocks(framed: bytes) -> list[tuple[bool, bytes]]:
    """Split a frame into blocks: whether each is stored uncompressed, and its bytes."""
    magic, flags, size_code, _ = struct.unpack_from("<IBBB", framed)
    assert magic == 0x184D2204
    assert flags >> 6 == 1, "version"
    assert flags & 0x20, "blocks are independent"
    assert not flags & 0x1D, "no checksums, no content size, no dictionary"
    assert size_code >> 4 == 4, "64 KiB"
    found, at = [], 7
    while (length := struct.unpack_from("<I", framed, at)[0]) != 0:
        at += 4
        size = length & ~STORED
        found.append((bool(length & STORED), framed[at : at + size]))
        at += size
    assert at + 4 == len(framed)
    return found


@given(st.binary(max_size=300), st.sampled_from([1, 1000]), st.integers(1, 17))
def test_every_block_is_readable_on_its_own(piece: bytes, times: int, level: int) -> None:
    data = piece * times
    cut = [data[start : start + BLOCK] for start in range(0, len(data), BLOCK)]
    for (stored, block), expected in zip(blocks(frame(data, level)), cut, strict=True):
        plain = block if stored else bytes(lz4.decompress_block(block, output_len=len(expected)))
        assert plain == expected


@pytest.mark.parametrize("level", [1, 9, 17])
@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
def test_another_reader_accepts_it(size: int, level: int) -> None:
    data = bytes(index * 7 % 251 for index in range(size))
    assert bytes(lz4.decompress(frame(data, level))) == data


@pytest.mark.parametrize("level", [1, 9, 17])
def test_incompressible_blocks_are_stored(level: int) -> None:
    noise = bytes(index * index * 31 % 257 % 256 for index in range(64))
    assert blocks(frame(noise, level)) == [(True, noise)]


def test_descriptor_checksum_equals_that_of_another_writer() -> None:
    """A reader that verifies it would reject a wrong one; a changed bit must be detected."""
    framed = bytearray(frame(b"x"))
    framed[6] ^= 1
    with pytest.raises(DecompressionError):
        lz4.decompress(bytes(framed))
