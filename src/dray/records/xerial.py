"""Snappy in Kafka: one raw block, or xerial's framing around many.

librdkafka and franz-go write one raw snappy block. Java, and the Python clients after its example, write the
framing of the xerial library: 8 magic bytes, two 32-bit version numbers, then `length, raw block` until the
end. Java cuts the input into blocks of 32 KiB, and so do we. The magic identifies the framing: as a raw
block, those bytes would begin with a copy from before the start of the block, so no raw block begins with
them.

The frame is walked twice, first to add up the sizes that the blocks claim, then to fill one buffer of that
size. Nothing is kept per block: a megabyte can hold 200 000 empty ones.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final

from cramjam import DecompressionError, snappy
from typing_extensions import Buffer

from dray.records.errors import BatchTooLarge, InvalidBatch

MAGIC: Final = b"\x82SNAPPY\x00"
BLOCK_BYTES: Final = 32 * 1024
_VERSIONS: Final = Struct(">ii")
_LENGTH: Final = Struct(">i")
_HEADER_BYTES: Final = len(MAGIC) + _VERSIONS.size
_READABLE_VERSION: Final = 1


def frame(data: Buffer) -> bytes:
    """Compress as Java does."""
    view = memoryview(data)
    pieces: list[Buffer] = [MAGIC, _VERSIONS.pack(_READABLE_VERSION, _READABLE_VERSION)]
    for start in range(0, len(view), BLOCK_BYTES):
        block = bytes(snappy.compress_raw(view[start : start + BLOCK_BYTES]))
        pieces += (_LENGTH.pack(len(block)), block)
    return b"".join(pieces)


def decompress(data: memoryview, limit_bytes: int) -> memoryview:
    """Undo `frame`, or one raw block."""
    blocks = _blocks if bytes(data[: len(MAGIC)]) == MAGIC else _one_block
    total = sum(map(_claimed_size, blocks(data)))
    if total > limit_bytes:
        raise BatchTooLarge(f"snappy claims {total} bytes, the limit is {limit_bytes}")
    out = memoryview(bytearray(total))
    position = 0
    for block in blocks(data):
        size = _claimed_size(block)
        _fill(block, out[position : position + size])
        position += size
    return out


def _one_block(data: memoryview) -> Iterator[memoryview]:
    yield data


def _blocks(data: memoryview) -> Iterator[memoryview]:
    if len(data) < _HEADER_BYTES:
        raise InvalidBatch(f"expected a {_HEADER_BYTES}-byte xerial header, found {len(data)} bytes")
    _, compatible = _VERSIONS.unpack_from(data, len(MAGIC))
    if compatible != _READABLE_VERSION:
        raise InvalidBatch(f"unknown version {compatible} of xerial snappy; expected {_READABLE_VERSION}")
    position = _HEADER_BYTES
    while position < len(data):
        block = _block_at(data, position)
        yield block
        position += _LENGTH.size + len(block)


def _block_at(data: memoryview, position: int) -> memoryview:
    start = position + _LENGTH.size
    if start > len(data):
        raise InvalidBatch(f"xerial snappy ends inside a block length at byte {position}")
    (length,) = _LENGTH.unpack_from(data, position)
    left = len(data) - start
    if not 0 < length <= left:
        raise InvalidBatch(f"a xerial block at byte {position} has length {length}; expected 1 to {left}")
    return data[start : start + length]


def _claimed_size(block: memoryview) -> int:
    try:
        return snappy.decompress_raw_len(block)
    except DecompressionError as error:
        raise InvalidBatch(f"not a snappy block: {error}") from error


def _fill(block: memoryview, out: memoryview) -> None:
    try:
        # Snappy itself rejects a block that holds more or fewer bytes than it claims.
        snappy.decompress_raw_into(block, out)
    except DecompressionError as error:
        raise InvalidBatch(f"damaged snappy block: {error}") from error
