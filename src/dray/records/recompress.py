"""Storing a batch in another codec than it came in, as a topic's compression.type may ask.

The records are decompressed and compressed as one block, without looking at any of them; the header's codec,
length and checksum are set anew. A batch that is in the wanted codec already is left alone, as in Kafka.
"""

from struct import Struct
from typing import Final

from dray.records.checksum import crc32c
from dray.records.codecs import Codec, compress, decompress
from dray.records.errors import BatchTooLarge
from dray.records.glance import PLAIN_BYTES_MAX
from dray.records.header import CODEC_MASK, CRC_START, HEADER_BYTES, LENGTH_END, parse_header
from dray.records.validate import ValidBatch

_LENGTH: Final = Struct(">i")
_LENGTH_AT: Final = 8
_CRC: Final = Struct(">I")
_CRC_AT: Final = 17
_ATTRIBUTES: Final = Struct(">h")
_ATTRIBUTES_AT: Final = 21


def recompressed(batch: ValidBatch, codec: Codec, max_bytes: int) -> ValidBatch:
    """Return the batch in `codec`; raises a `RecordError` if it cannot be read or becomes too large."""
    if batch.header.codec == codec:
        return batch
    whole = memoryview(batch.buffer)
    plain = decompress(batch.header.codec, whole[HEADER_BYTES:], PLAIN_BYTES_MAX)
    packed = compress(codec, plain)
    size_bytes = HEADER_BYTES + len(packed)
    if size_bytes > max_bytes:
        raise BatchTooLarge(
            f"the batch has {size_bytes} bytes as {codec.name.lower()}, the topic takes {max_bytes}"
        )
    head = bytearray(whole[:HEADER_BYTES])
    _LENGTH.pack_into(head, _LENGTH_AT, size_bytes - LENGTH_END)
    _ATTRIBUTES.pack_into(head, _ATTRIBUTES_AT, batch.header.attributes & ~CODEC_MASK | codec)
    _CRC.pack_into(head, _CRC_AT, crc32c(packed, crc32c(head[CRC_START:])))
    fixed = bytes(head)
    return ValidBatch(parse_header(memoryview(fixed)), (fixed, packed), batch.append_time_ms)
