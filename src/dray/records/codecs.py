"""Compression as Kafka knows it: five codecs, each with the framing that clients really send.

`decompress` never gives out more than `limit_bytes`, and never allocates by a number that the input
claims: gzip, lz4 and zstd write into a buffer that starts small and grows by tries, so that a bomb costs
at most the limit; snappy's claimed size is compared with the limit first. Streams made of several gzip
members, lz4 frames or zstd frames are read to the end. Beside the result a decoder holds one block (lz4:
at most 4 MiB) or one window (zstd: at most 128 MiB of address space, of which only what is written
becomes memory).
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Final

from cramjam import DecompressionError, gzip, lz4, zstd
from typing_extensions import Buffer

from dray.records import lz4_frame, xerial
from dray.records.errors import BatchTooLarge, InvalidBatch, UnsupportedCodec

_FIRST_TRY_BYTES_MIN: Final = 64 * 1024
_GROWTH: Final = 4
_BUFFER_FULL: Final = "failed to write whole buffer"
"""How cramjam says that the output did not fit; a test holds it to that."""


class Codec(IntEnum):
    """The numbers of the codecs in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_Inflate = Callable[[memoryview, memoryview], int]
_STREAMS: Final[dict[Codec, _Inflate]] = {
    Codec.GZIP: gzip.decompress_into,
    Codec.LZ4: lz4.decompress_into,
    Codec.ZSTD: zstd.decompress_into,
}


def known_codec(number: int) -> Codec:
    """Return the codec of this number, or raise `UnsupportedCodec`."""
    try:
        return Codec(number)
    except ValueError:
        raise UnsupportedCodec(f"codec {number} is not known; 0 to 4 are") from None


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """Compress as Java would; `level` is what Kafka calls the codec's level, its default unless told."""
    match known_codec(codec):
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            return bytes(gzip.compress(data, level=6 if level in (None, -1) else level))
        case Codec.SNAPPY:
            return xerial.frame(data)
        case Codec.LZ4:
            return lz4_frame.frame(data, lz4_frame.USUAL_LEVEL if level is None else level)
        case Codec.ZSTD:
            return bytes(zstd.compress(data, level=3 if level is None else level))


def decompress(codec: int, data: Buffer, limit_bytes: int) -> memoryview:
    """Return the plain bytes, at most `limit_bytes` of them; uncompressed input is returned as it is."""
    return Scratch().decompress(codec, data, limit_bytes)


class Scratch:
    """Decompresses as `decompress` does, into memory that it uses again.

    What a call gives out is gone with the next one. For those who read many batches one after the other: to
    the kernel, fresh memory for each is as much work as decompressing is to us.
    """

    def __init__(self) -> None:
        self._out = bytearray()

    def decompress(self, codec: int, data: Buffer, limit_bytes: int) -> memoryview:
        """Return the plain bytes, at most `limit_bytes` of them; uncompressed input is returned as it is."""
        known, view = known_codec(codec), memoryview(data)
        if known is Codec.NONE:
            if len(view) > limit_bytes:
                raise BatchTooLarge(f"{len(view)} bytes of records, the limit is {limit_bytes}")
            return view
        if known is Codec.SNAPPY:
            return xerial.decompress(view, limit_bytes)
        return self._decompress_stream(known, view, limit_bytes)

    def _decompress_stream(self, codec: Codec, view: memoryview, limit_bytes: int) -> memoryview:
        """Try with growing buffers: the sizes that these formats claim are absent or cannot be trusted."""
        self._grow(min(limit_bytes, max(_FIRST_TRY_BYTES_MIN, _GROWTH * len(view))))
        while (plain := _attempt(codec, view, memoryview(self._out)[:limit_bytes])) is None:
            if len(self._out) >= limit_bytes:
                self._out = bytearray()  # whoever keeps the error would keep it too
                raise BatchTooLarge(f"more than {limit_bytes} bytes once decompressed ({codec.name.lower()})")
            self._grow(min(limit_bytes, len(self._out) * _GROWTH))
        return plain

    def _grow(self, size: int) -> None:
        if len(self._out) < size:
            self._out = bytearray()  # never two of them at a time
            self._out = bytearray(size)


def _attempt(codec: Codec, view: memoryview, out: memoryview) -> memoryview | None:
    """Return the plain bytes if there is room for them."""
    try:
        return out[: _STREAMS[codec](view, out)]
    except DecompressionError as error:
        if str(error) == _BUFFER_FULL:
            return None
        raise InvalidBatch(f"damaged {codec.name.lower()} data: {error}") from error
