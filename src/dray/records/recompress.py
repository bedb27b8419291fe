"""Storing a batch in another codec than it came in, as a topic's compression.type may ask.

The records are decompressed and compressed as one block, without looking at any of them; the header's codec,
length and checksum are set anew. A batch that is in the wanted codec already is left alone, whatever its
level, as in Kafka.
"""

from typing import NamedTuple

from dray.records.codecs import Codec, compress, decompress
from dray.records.errors import BatchTooLarge
from dray.records.glance import PLAIN_BYTES_MAX
from dray.records.header import CODEC_MASK, HEADER_BYTES, LENGTH_END, checksummed
from dray.records.validate import ValidBatch


class Compression(NamedTuple):
    """How a topic's batches are stored; without a level, with the codec's usual one."""

    codec: Codec
    level: int | None = None


def recompressed(
    batch: ValidBatch, wanted: Compression, max_bytes: int, plain_bytes_max: int = PLAIN_BYTES_MAX
) -> ValidBatch:
    """Return the batch as `wanted`; raises a `RecordError` if it cannot be read or becomes too large."""
    header = batch.header
    if header.codec == wanted.codec:
        return batch
    plain = decompress(header.codec, batch.payload, plain_bytes_max)
    packed = compress(wanted.codec, plain, wanted.level)
    size_bytes = HEADER_BYTES + len(packed)
    if size_bytes > max_bytes:
        raise BatchTooLarge(
            f"the batch has {size_bytes} bytes as {wanted.codec.name.lower()}, the topic takes {max_bytes}"
        )
    attributes = header.attributes & ~CODEC_MASK | wanted.codec
    resized = header._replace(batch_length=size_bytes - LENGTH_END, attributes=attributes)
    fresh, head = checksummed(resized, packed)
    return ValidBatch(fresh, (head, packed), batch.append_time_ms)
