"""LZ4 frames that all of Kafka's clients read: independent blocks of at most 64 KiB.

The blocks in cramjam's frames refer to earlier blocks, and Java's reader refuses those. So the frame is
assembled here, from blocks that cramjam compresses: 7 bytes of descriptor, each block after its length, an
end mark of four zero bytes. There are no checksums, because the batch has one. A block that would grow is
stored uncompressed, which the highest bit of its length marks.

As in Kafka, the default level is the fast compressor, and every other one the high compressor with that much
effort. cramjam has the latter for whole frames only; a frame of 64 KiB has a single block, which is
extracted.
"""

from struct import Struct
from typing import Final

from cramjam import lz4
from typing_extensions import Buffer

USUAL_LEVEL: Final = 9
_DESCRIPTOR: Final = bytes.fromhex("04224d18 60 40 82")
"""Magic; version 1 with independent blocks; 64 KiB blocks; the checksum of the two bytes before."""
_BLOCK_BYTES: Final = 64 * 1024
_LENGTH: Final = Struct("<I")
_STORED: Final = 1 << 31
_END: Final = bytes(4)
_HIGH_LEVELS: Final = 2, 12
"""Below, the library does not use the high compressor; above, it knows no higher effort."""


def frame(data: Buffer, level: int = USUAL_LEVEL) -> bytes:
    """Return `data` as one LZ4 frame."""
    view = memoryview(data)
    pieces: list[Buffer] = [_DESCRIPTOR]
    for start in range(0, len(view), _BLOCK_BYTES):
        plain = view[start : start + _BLOCK_BYTES]
        packed = _fast(plain) if level == USUAL_LEVEL else _high(plain, level)
        smaller = len(packed) < len(plain)
        pieces.append(_LENGTH.pack(len(packed) if smaller else len(plain) | _STORED))
        pieces.append(packed if smaller else plain)
    pieces.append(_END)
    return b"".join(pieces)


def _fast(plain: memoryview) -> memoryview:
    return memoryview(lz4.compress_block(plain, store_size=False))


def _high(plain: memoryview, level: int) -> memoryview:
    lowest, highest = _HIGH_LEVELS
    framed = memoryview(lz4.compress(plain, level=min(max(level, lowest), highest)))
    start = len(_DESCRIPTOR) + _LENGTH.size
    (length,) = _LENGTH.unpack_from(framed, len(_DESCRIPTOR))
    return framed[start : start + (length & ~_STORED)]
