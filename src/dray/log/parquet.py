"""Row groups of Parquet files into record batches.

Needs `dray[tables]`; so a broker does not import this before it meets the first file.

A batch that is many times as large as batches are made, because one record is, is compressed: its producer
had most likely done so, and a client may take no larger answer than that was. lz4, because every client
knows it.
"""

from typing import Final

from typing_extensions import Buffer

from dray.formats.parquet_v1 import ParquetError, read_footer, read_group
from dray.log.row_groups import EncodedGroup, EncodedSpan, GroupBytes, GroupUnreadable
from dray.records import Codec, Compression, RecordError, ValidBatch, parse_header
from dray.records.columns import EncodedBatches, encode
from dray.records.recompress import recompressed

_LARGE_BYTES: Final = 8 * 1024 * 1024
_ANY_BYTES: Final = 2**31 - 1
_PACKED: Final = Compression(Codec.LZ4)


def encode_group(group: GroupBytes) -> EncodedGroup:
    """Decode a group and encode its records again; takes milliseconds, so it belongs in a thread."""
    try:
        footer = read_footer(group.tail, group.tail_crc)
        encoded = encode(read_group(footer, group.number, group.position, group.data))
        if any(span.end - span.start > _LARGE_BYTES for span in encoded.spans):
            return _packed(encoded)
    except (ParquetError, RecordError) as error:
        raise GroupUnreadable(f"row group {group.number} is damaged: {error}") from error
    spans = [
        EncodedSpan(span.start, span.end, span.base_offset, span.last_offset, span.max_timestamp_ms)
        for span in encoded.spans
    ]
    return EncodedGroup(encoded.buffer, spans)


def _packed(encoded: EncodedBatches) -> EncodedGroup:
    parts: list[Buffer] = []
    spans: list[EncodedSpan] = []
    start = 0
    for span in encoded.spans:
        batch = _compressed(encoded.buffer[span.start : span.end])
        end = start + memoryview(batch).nbytes
        parts.append(batch)
        spans.append(EncodedSpan(start, end, span.base_offset, span.last_offset, span.max_timestamp_ms))
        start = end
    return EncodedGroup(memoryview(b"".join(parts)), spans)


def _compressed(plain: memoryview) -> Buffer:
    """Compress a large batch, unless that makes it larger."""
    if len(plain) <= _LARGE_BYTES:
        return plain
    batch = ValidBatch(parse_header(plain), (plain,), -1)
    packed = recompressed(batch, _PACKED, _ANY_BYTES, _ANY_BYTES)
    return packed.buffer if packed.header.size_bytes < len(plain) else plain
