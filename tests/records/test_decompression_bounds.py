"""Bounds of the record count: compressed batches count at most what their bytes can decompress to."""

import gzip
from collections.abc import Callable

import pytest
from cramjam import snappy, zstd
from hypothesis import given

from dray.records import Codec, InvalidBatch, Record, compress, encode_batch
from dray.records.decompression_bounds import RECORD_BYTES_MIN, check_count
from tests.records.strategies import record_lists

PACKED = [codec for codec in Codec if codec is not Codec.NONE]
MOST = 2**31 - 1
LEAST = b"\x0c\0\0\0\1\1\0"
"""The smallest record: no key, no value, no headers."""


def plain(count: int) -> bytes:
    return LEAST * count


def java_zstd(data: bytes) -> bytes:
    """Compress as a stream, whose size is unknown when its header is written."""
    compressor = zstd.Compressor()
    compressor.compress(data)
    return bytes(compressor.finish())


def lz4_with_size(size: int, data: bytes) -> bytes:
    """Return a frame as Python's lz4 package writes it, with a flag and eight bytes of content size."""
    framed = compress(Codec.LZ4, data)
    return framed[:4] + bytes([framed[4] | 8, framed[5]]) + size.to_bytes(8, "little") + framed[6:]


FRAMINGS: dict[str, tuple[Codec, Callable[[bytes], bytes]]] = {
    "gzip": (Codec.GZIP, lambda data: compress(Codec.GZIP, data)),
    "gzip, hardest": (Codec.GZIP, lambda data: gzip.compress(data, 9)),
    "snappy, xerial": (Codec.SNAPPY, lambda data: compress(Codec.SNAPPY, data)),
    "snappy, raw": (Codec.SNAPPY, lambda data: bytes(snappy.compress_raw(data))),
    "lz4": (Codec.LZ4, lambda data: compress(Codec.LZ4, data)),
    "lz4, hardest": (Codec.LZ4, lambda data: compress(Codec.LZ4, data, 12)),
    "lz4 with content size": (Codec.LZ4, lambda data: lz4_with_size(len(data), data)),
    "lz4, several frames": (
        Codec.LZ4,
        lambda data: lz4_with_size(7, data[:7]) + lz4_with_size(len(data) - 7, data[7:]),
    ),
    "zstd": (Codec.ZSTD, lambda data: compress(Codec.ZSTD, data)),
    "zstd, hardest": (Codec.ZSTD, lambda data: compress(Codec.ZSTD, data, 19)),
    "zstd as a stream": (Codec.ZSTD, java_zstd),
    "zstd, several frames": (
        Codec.ZSTD,
        lambda data: bytes(zstd.compress(data[:7])) + bytes(zstd.compress(data[7:])),
    ),
}


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("count", [1, 2, 36, 37, 300, 10_000, 1_000_000])
def test_smallest_records_at_the_best_compression_are_accepted(framing: str, count: int) -> None:
    codec, pack = FRAMINGS[framing]
    check_count(codec, memoryview(pack(plain(count))), count)


@pytest.mark.parametrize("framing", FRAMINGS)
def test_small_batch_cannot_claim_many_offsets(framing: str) -> None:
    codec, pack = FRAMINGS[framing]
    packed = memoryview(pack(plain(3)))
    check_count(codec, packed, 3)
    with pytest.raises(InvalidBatch, match=f"counts {MOST} records; {len(packed)} bytes"):
        check_count(codec, packed, MOST)


@pytest.mark.parametrize(
    ("framing", "times"),
    [("gzip", 1032), ("snappy, xerial", 64 / 3), ("lz4", 255), ("zstd as a stream", 2**15)],
)
def test_without_a_content_size_the_codec_gives_the_bound(framing: str, times: float) -> None:
    codec, pack = FRAMINGS[framing]
    packed = memoryview(pack(plain(3)))
    most = int(len(packed) * times) // RECORD_BYTES_MIN
    check_count(codec, packed, most)
    with pytest.raises(InvalidBatch):
        check_count(codec, packed, most + 1)


@pytest.mark.parametrize("framing", ["snappy, raw", "lz4 with content size", "zstd", "zstd, hardest"])
@pytest.mark.parametrize("count", [1, 36, 37, 300, 10_000, 1_000_000])
def test_content_size_is_an_exact_bound(framing: str, count: int) -> None:
    codec, pack = FRAMINGS[framing]
    packed = memoryview(pack(plain(count)))
    with pytest.raises(InvalidBatch):
        check_count(codec, packed, count + 1)


@pytest.mark.parametrize("codec", PACKED)
def test_bound_holds_for_batches_of_any_size(codec: Codec) -> None:
    with pytest.raises(InvalidBatch):
        check_count(codec, memoryview(b"\xff" * (128 << 20)), MOST // RECORD_BYTES_MIN + 1)


@pytest.mark.parametrize("codec", PACKED)
def test_truncated_batches_are_bounded(codec: Codec) -> None:
    whole = compress(codec, plain(2))
    for size in range(len(whole)):
        with pytest.raises(InvalidBatch):
            check_count(codec, memoryview(whole[:size]), MOST)


@given(record_lists())
def test_no_valid_batch_is_rejected(records: list[Record]) -> None:
    for codec in PACKED:
        check_count(codec, memoryview(encode_batch(records, codec=codec))[61:], len(records))
