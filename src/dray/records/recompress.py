"""Recompression of a batch in another codec, as a topic's `compression.type` requires.

The records are decompressed and compressed as one block, and none is read; codec, length and checksum of the
header are set. A batch that has the wanted codec is left as it is, whatever its level, as in Kafka.
"""

from typing import NamedTuple

from dray.records.codecs import Codec, compress, decompress
from dray.records.errors import BatchTooLarge
from dray.records.header import CODEC_MASK, HEADER_BYTES, LENGTH_END, checksummed
from dray.records.shallow_validate import PLAIN_BYTES_MAX
from dray.records.validate import ValidBatch


class Compression(NamedTuple):
    """Codec and level of a topic's batches; None means the default level of the codec."""

    codec: Codec
    level: int | None = None


def recompressed(
    batch: ValidBatch, wanted: Compression, max_bytes: int, plain_bytes_max: int = PLAIN_BYTES_MAX
) -> ValidBatch:
    """Return the batch in the wanted codec; raises a `RecordError` if it is unreadable or grows too large."""
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
