"""Bounds of the decompressed size: whether a compressed batch can hold the records that its header counts.

Offsets are assigned by that count, so that a wrong one could use up 2^31 of them for a few bytes. A record
takes at least `RECORD_BYTES_MIN` once decompressed, and the largest size of a decompressed payload is known:

    gzip      1032 times its size: two bits can stand for 258 bytes
    snappy    64 bytes for 3; a raw block also states its size
    lz4       255 times its size; a frame may state its size
    zstd      128 KiB for 4 bytes; a frame may state its size, as librdkafka's do and Java's do not

And no client makes a batch of more than 2 GiB, as its sizes have 31 bits. A stated size is that of the first
frame; where a second one may follow it is ignored. So the check errs towards accepting a batch, and takes
about a microsecond. Batches that pass and still hold fewer records fail in their readers.
"""

from struct import Struct
from typing import Final

from dray.records.codecs import Codec
from dray.records.errors import InvalidBatch
from dray.records.xerial import MAGIC as XERIAL_MAGIC

RECORD_BYTES_MIN: Final = 7
"""Length, attributes, two deltas, two lengths and the header count: one byte each."""
_PLAIN_BYTES_MAX: Final = 2**31 - 1
_GREATEST: Final = {
    Codec.GZIP: (1032, 1),
    Codec.SNAPPY: (64, 3),
    Codec.LZ4: (255, 1),
    Codec.ZSTD: (128 * 1024, 4),
}
"""How many decompressed bytes can result from how many compressed ones."""
_LZ4_MAGIC: Final = bytes.fromhex("04224d18")
_LZ4_STATES_SIZE: Final = 0x08
_ZSTD_MAGIC: Final = bytes.fromhex("28b52ffd")
_MAGICS: Final = {Codec.LZ4: _LZ4_MAGIC, Codec.ZSTD: _ZSTD_MAGIC}
_ZSTD_SINGLE_SEGMENT: Final = 0x20
_ZSTD_DICTIONARY_BYTES: Final = (0, 1, 2, 4)
_SIZE_16: Final = Struct("<H")
_SIZE_32: Final = Struct("<I")
_SIZE_64: Final = Struct("<Q")


def check_count(codec: int, payload: memoryview, record_count: int) -> None:
    """Raise `InvalidBatch` if a compressed payload cannot possibly hold so many records."""
    known, wanted = Codec(codec), record_count * RECORD_BYTES_MIN
    if wanted > _most(known, payload) or _states_less(known, payload, wanted):
        raise InvalidBatch(
            f"the header counts {record_count} records; {len(payload)} bytes cannot contain that many"
        )


def _most(codec: Codec, payload: memoryview) -> int:
    plain, packed = _GREATEST[codec]
    return min(len(payload) * plain // packed, _PLAIN_BYTES_MAX)


def _states_less(codec: Codec, payload: memoryview, wanted: int) -> bool:
    stated = _stated_size(codec, payload)
    return stated is not None and stated < wanted and not _may_continue(codec, payload)


def _stated_size(codec: Codec, payload: memoryview) -> int | None:
    """Return the size that the payload states; None if it states none, or cannot be read."""
    try:
        match codec:
            case Codec.SNAPPY:
                return _snappy_size(payload)
            case Codec.LZ4:
                return _lz4_size(payload)
            case Codec.ZSTD:
                return _zstd_size(payload)
    except (IndexError, ValueError):  # truncated: left to the readers of the batch
        return None
    return None


def _may_continue(codec: Codec, payload: memoryview) -> bool:
    """Return whether another frame may follow: each one begins with these four bytes, which are rare."""
    magic = _MAGICS.get(codec)
    return magic is not None and magic in bytes(payload[len(magic) :])


def _snappy_size(payload: memoryview) -> int | None:
    """A raw block begins with its size, in seven bits a byte; in xerial's framing each block has its own."""
    if bytes(payload[: len(XERIAL_MAGIC)]) == XERIAL_MAGIC:
        return None
    size = 0
    for place in range(5):
        byte = payload[place]
        size |= (byte & 127) << 7 * place
        if byte < 128:
            return size
    return None


def _lz4_size(payload: memoryview) -> int | None:
    """Magic, flags, block size, then the size if the flags announce it."""
    if payload[:4] != _LZ4_MAGIC or not payload[4] & _LZ4_STATES_SIZE:
        return None
    return _number(_SIZE_64, payload, 6)


def _zstd_size(payload: memoryview) -> int | None:
    """Magic, descriptor, window, dictionary, then the size, in as many bytes as the descriptor announces."""
    if payload[:4] != _ZSTD_MAGIC:
        return None
    descriptor = payload[4]
    single = bool(descriptor & _ZSTD_SINGLE_SEGMENT)
    at = 5 + (not single) + _ZSTD_DICTIONARY_BYTES[descriptor & 3]
    match descriptor >> 6:
        case 0:
            return payload[at] if single else None
        case 1:
            return _number(_SIZE_16, payload, at) + 256
        case 2:
            return _number(_SIZE_32, payload, at)
    return _number(_SIZE_64, payload, at)


def _number(layout: Struct, payload: memoryview, at: int) -> int:
    if at + layout.size > len(payload):
        raise IndexError(at)
    return int(layout.unpack_from(payload, at)[0])
