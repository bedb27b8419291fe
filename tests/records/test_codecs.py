"""Codecs with the framings that clients send, and the limits on hostile input."""

import gzip
import tracemalloc
from struct import pack

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.records import (
    BatchTooLarge,
    Codec,
    InvalidBatch,
    RecordError,
    UnsupportedCodec,
    compress,
    decompress,
)
from dray.records.codecs import Scratch
from tests.records.strategies import codecs

MIB = 1024 * 1024
XERIAL_HEADER = b"\x82SNAPPY\x00" + pack(">ii", 1, 1)
COMPRESSED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


@given(codecs, st.binary(max_size=2000), st.integers(1, 100))
def test_round_trip(codec: Codec, data: bytes, times: int) -> None:
    assert decompress(codec, compress(codec, data * times), len(data) * times) == data * times


@pytest.mark.parametrize("codec", Codec)
def test_limit_is_exact(codec: Codec) -> None:
    packed = compress(codec, b"abc" * 100_000)
    assert len(decompress(codec, packed, 300_000)) == 300_000
    with pytest.raises(BatchTooLarge, match="299999"):
        decompress(codec, packed, 299_999)


@pytest.mark.parametrize("codec", Codec)
def test_reused_buffers_do_not_change_results(codec: Codec) -> None:
    """A large batch, then a small one in the same buffer, and a limit below the buffer's size."""
    scratch = Scratch()
    for plain in (b"abc" * 100_000, b"de", b"", b"fgh" * 50_000):
        assert bytes(scratch.decompress(codec, compress(codec, plain), 300_000)) == plain
    with pytest.raises(BatchTooLarge, match="99"):
        scratch.decompress(codec, compress(codec, b"i" * 100), 99)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_buffers_are_reused(codec: Codec) -> None:
    scratch, packed = Scratch(), compress(codec, b"abc" * 100_000)
    first = scratch.decompress(codec, packed, 300_000)
    assert scratch.decompress(codec, packed, 300_000).obj is first.obj


@pytest.mark.parametrize("number", [5, 6, 7, -1])
def test_unknown_codec_is_refused(number: int) -> None:
    with pytest.raises(UnsupportedCodec, match=str(number)):
        decompress(number, b"", 10)
    with pytest.raises(UnsupportedCodec, match=str(number)):
        compress(number, b"")


@pytest.mark.parametrize(
    ("codec", "magic"),
    [
        (Codec.GZIP, b"\x1f\x8b"),
        (Codec.SNAPPY, XERIAL_HEADER),
        (Codec.LZ4, b"\x04\x22\x4d\x18"),
        (Codec.ZSTD, b"\x28\xb5\x2f\xfd"),
    ],
)
def test_compressed_batches_have_kafkas_framing(codec: Codec, magic: bytes) -> None:
    assert compress(codec, b"hello").startswith(magic)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_several_frames_are_read_to_the_end(codec: Codec) -> None:
    two = compress(codec, b"first,") + compress(codec, b"second")
    assert bytes(decompress(codec, two, 100)) == b"first,second"


@pytest.mark.parametrize("codec", COMPRESSED)
def test_every_truncation_is_detected(codec: Codec) -> None:
    packed = compress(codec, b"some bytes to squeeze, some bytes to squeeze")
    # Xerial's header alone, without blocks, is an empty stream.
    lengths = set(range(len(packed))) - ({len(XERIAL_HEADER)} if codec is Codec.SNAPPY else set())
    for length in lengths:
        with pytest.raises(RecordError):
            decompress(codec, packed[:length], 1000)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_garbage_is_invalid(codec: Codec) -> None:
    with pytest.raises(InvalidBatch):
        decompress(codec, b"\xff" * 64, 1000)


def test_raw_snappy_is_accepted() -> None:
    raw = bytes(cramjam.snappy.compress_raw(b"as librdkafka writes it" * 10))
    assert decompress(Codec.SNAPPY, raw, 1000) == b"as librdkafka writes it" * 10


def test_xerial_blocks_equal_those_of_java() -> None:
    framed = compress(Codec.SNAPPY, bytes(80_000))
    sizes, position = [], len(XERIAL_HEADER)
    while position < len(framed):
        length = int.from_bytes(framed[position : position + 4], "big")
        block = framed[position + 4 : position + 4 + length]
        sizes.append(cramjam.snappy.decompress_raw_len(block))
        position += 4 + length
    assert sizes == [32_768, 32_768, 80_000 - 2 * 32_768]


@pytest.mark.parametrize("length", [-1, 0, 4, 2**31 - 1])
def test_xerial_blocks_of_the_wrong_length_are_invalid(length: int) -> None:
    with pytest.raises(InvalidBatch, match=f"has length {length}; expected 1 to 3"):
        decompress(Codec.SNAPPY, XERIAL_HEADER + pack(">i", length) + b"\x01\x00a", 1000)


@pytest.mark.parametrize("claim", [0, 2, 100])
def test_snappy_blocks_of_the_wrong_size_are_invalid(claim: int) -> None:
    with pytest.raises(InvalidBatch, match="damaged snappy block"):
        decompress(Codec.SNAPPY, bytes([claim]) + b"\x00a", 1000)


def test_unknown_xerial_version_is_invalid() -> None:
    with pytest.raises(InvalidBatch, match="version 2"):
        decompress(Codec.SNAPPY, b"\x82SNAPPY\x00" + pack(">ii", 2, 2), 1000)


def test_snappy_with_a_wrong_size_is_rejected_before_allocation() -> None:
    with pytest.raises(BatchTooLarge, match="4294967295"):
        decompress(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f\x00a", MIB)


def test_limit_covers_all_xerial_blocks() -> None:
    claim = b"\x80\x80\x20\x00a"  # half a MiB
    with pytest.raises(BatchTooLarge, match=str(3 * MIB // 2)):
        decompress(Codec.SNAPPY, XERIAL_HEADER + 3 * (pack(">i", len(claim)) + claim), MIB)


def _zstd_run(blocks: int) -> bytes:
    """Return a frame of `blocks` 128 KiB run-length blocks, four bytes each, with a wrong content size."""
    header = b"\x28\xb5\x2f\xfd" + bytes([0b1000_0000, 0x38]) + pack("<I", 5)
    sizes = [(128 * 1024 << 3) | 0b010 | (number == blocks - 1) for number in range(blocks)]
    return header + b"".join(size.to_bytes(3, "little") + b"a" for size in sizes)


BOMBS = [
    pytest.param(Codec.GZIP, gzip.compress(bytes(64 * MIB)), id="gzip"),
    pytest.param(Codec.GZIP, gzip.compress(bytes(MIB)) * 64, id="gzip-members"),
    pytest.param(Codec.LZ4, compress(Codec.LZ4, bytes(64 * MIB)), id="lz4"),
    pytest.param(Codec.ZSTD, compress(Codec.ZSTD, bytes(64 * MIB)), id="zstd"),
    pytest.param(Codec.ZSTD, compress(Codec.ZSTD, bytes(MIB)) * 64, id="zstd-frames"),
    pytest.param(Codec.ZSTD, _zstd_run(512), id="zstd-runs"),
    pytest.param(Codec.SNAPPY, compress(Codec.SNAPPY, bytes(64 * MIB)), id="xerial"),
    pytest.param(Codec.SNAPPY, XERIAL_HEADER + b"\x00\x00\x00\x01\x00" * 40_000, id="xerial-empties"),
]


@pytest.mark.parametrize(("codec", "bomb"), BOMBS)
def test_decompression_bomb_is_limited(codec: Codec, bomb: bytes) -> None:
    limit = 2 * MIB
    tracemalloc.start()
    try:
        try:
            outcome: object = len(decompress(codec, bomb, limit))
        except RecordError as error:
            outcome = type(error)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert outcome in {BatchTooLarge, InvalidBatch, 0}
    assert peak < limit + MIB // 8
