"""Kafka's compression codecs, each with the framing that clients send.

`decompress` never returns more than `limit_bytes`, and never allocates by a number that the input claims:
gzip, lz4 and zstd write into a buffer that starts small and grows by retries, so that a bomb costs at most
the limit; the size that snappy claims is compared with the limit first. Streams of several gzip members, lz4
frames or zstd frames are read to the end. Besides the result a decoder holds one block (lz4: at most 4 MiB)
or one window (zstd: at most 128 MiB of address space, of which only the written part becomes memory).
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
"""cramjam's message when the output does not fit; a test pins it."""


class Codec(IntEnum):
    """Codec numbers in the attributes of a batch."""

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
    """Return the codec with this number, or raise `UnsupportedCodec`."""
    try:
        return Codec(number)
    except ValueError:
        raise UnsupportedCodec(f"unknown codec {number}; expected 0 to 4") from None


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """Compress as Kafka does; `level` is Kafka's compression level, None the default of the codec."""
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
    """Return the decompressed bytes, at most `limit_bytes`; uncompressed input is returned as it is."""
    return Scratch().decompress(codec, data, limit_bytes)


class Scratch:
    """Decompression into memory that is reused.

    The result of a call is overwritten by the next one. For reading many batches one after the other: new
    memory for each costs the operating system as much as the decompression costs us.
    """

    def __init__(self) -> None:
        self._out = bytearray()

    def decompress(self, codec: int, data: Buffer, limit_bytes: int) -> memoryview:
        """Return the decompressed bytes, at most `limit_bytes`; uncompressed input is returned as it is."""
        known, view = known_codec(codec), memoryview(data)
        if known is Codec.NONE:
            if len(view) > limit_bytes:
                raise BatchTooLarge(f"{len(view)} bytes of records, the limit is {limit_bytes}")
            return view
        if known is Codec.SNAPPY:
            return xerial.decompress(view, limit_bytes)
        return self._decompress_stream(known, view, limit_bytes)

    def _decompress_stream(self, codec: Codec, view: memoryview, limit_bytes: int) -> memoryview:
        """Retry with growing buffers: the sizes that these formats claim are absent or cannot be trusted."""
        self._grow(min(limit_bytes, max(_FIRST_TRY_BYTES_MIN, _GROWTH * len(view))))
        while (plain := _attempt(codec, view, memoryview(self._out)[:limit_bytes])) is None:
            if len(self._out) >= limit_bytes:
                self._out = bytearray()  # else it lives as long as the error does
                raise BatchTooLarge(f"more than {limit_bytes} bytes once decompressed ({codec.name.lower()})")
            self._grow(min(limit_bytes, len(self._out) * _GROWTH))
        return plain

    def _grow(self, size: int) -> None:
        if len(self._out) < size:
            self._out = bytearray()  # never two of them at a time
            self._out = bytearray(size)


def _attempt(codec: Codec, view: memoryview, out: memoryview) -> memoryview | None:
    """Return the decompressed bytes; None if the buffer is too small."""
    try:
        return out[: _STREAMS[codec](view, out)]
    except DecompressionError as error:
        if str(error) == _BUFFER_FULL:
            return None
        raise InvalidBatch(f"damaged {codec.name.lower()} data: {error}") from error
