"""Recompression of a batch in another codec, as a topic's `compression.type` requires.

The records are decompressed and compressed as one block; codec, length and checksum of the header are set.
Kafka builds such a batch from its records, so that records get the offsets of their order, whatever
their offset deltas are. Here they are only rewritten if the deltas are not 0, 1, 2… A batch that has the
wanted codec is left as it is, whatever its level, as in Kafka.
"""

from typing import NamedTuple

from typing_extensions import Buffer

from dray.records.codecs import Codec, compress, decompress
from dray.records.errors import BatchTooLarge, RecordError
from dray.records.header import CODEC_MASK, HEADER_BYTES, LENGTH_END, checksummed
from dray.records.raw import read_record, write_record
from dray.records.shallow_validate import PLAIN_BYTES_MAX, is_numbered
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
    packed = compress(wanted.codec, _numbered(plain, header.record_count), wanted.level)
    size_bytes = HEADER_BYTES + len(packed)
    if size_bytes > max_bytes:
        raise BatchTooLarge(
            f"the batch has {size_bytes} bytes as {wanted.codec.name.lower()}, the topic takes {max_bytes}"
        )
    attributes = header.attributes & ~CODEC_MASK | wanted.codec
    resized = header._replace(batch_length=size_bytes - LENGTH_END, attributes=attributes)
    fresh, head = checksummed(resized, packed)
    return ValidBatch(fresh, (head, packed), batch.append_time_ms)


def _numbered(plain: memoryview, count: int) -> Buffer:
    """Return the records with the offset deltas 0, 1, 2…; unreadable ones are returned as they are."""
    if is_numbered(plain, count):
        return plain
    out, at = bytearray(), 0
    try:
        for number in range(count):
            record, at = read_record(plain, at)
            write_record(out, record._replace(offset_delta=number))
    except RecordError:
        return plain
    return out
