"""Encoding of one row group as record batches, for `row_groups`.

Needs `dray[tables]`, so a broker imports this with the first Parquet file that it reads.

A batch much larger than usual, because it holds a large record, is compressed. Its producer most likely
compressed it too, and clients may limit the size of responses accordingly. Every client supports lz4.
"""

from collections.abc import Iterator
from typing import Final

from dray.formats.parquet_v1 import ParquetError, read_footer, read_group
from dray.log.row_groups import EncodedBatch, EncodedGroup, GroupBytes, GroupUnreadable
from dray.records import Codec, Compression, RecordError, ValidBatch, parse_header
from dray.records.columns import EncodedBatches, encode_in_parts
from dray.records.recompress import recompressed

_BUFFER_BYTES: Final = 1 << 20
"""About as much as is sent of a partition at a time; a buffer lives as long as a batch of it waits."""
_LARGE_BYTES: Final = 8 * 1024 * 1024
_ANY_BYTES: Final = 2**31 - 1
_PACKED: Final = Compression(Codec.LZ4)


def encode_group(group: GroupBytes) -> EncodedGroup:
    """Decode a group and encode its records again; takes milliseconds, so it belongs in a thread."""
    try:
        footer = read_footer(group.tail, group.tail_crc)
        rows = read_group(footer, group.number, group.position, group.data)
        return [batch for part in encode_in_parts(rows, _BUFFER_BYTES) for batch in _batches(part)]
    except (ParquetError, RecordError) as error:
        raise GroupUnreadable(f"row group {group.number} is damaged: {error}") from error


def _batches(encoded: EncodedBatches) -> Iterator[EncodedBatch]:
    for span in encoded.spans:
        batch = _packed(encoded.buffer[span.start : span.end])
        yield EncodedBatch(batch, span.base_offset, span.last_offset, span.max_timestamp_ms)


def _packed(plain: memoryview) -> memoryview:
    """Compress a large batch, unless that makes it larger."""
    if len(plain) <= _LARGE_BYTES:
        return plain
    batch = ValidBatch(parse_header(plain), (plain,), -1)
    packed = recompressed(batch, _PACKED, _ANY_BYTES, _ANY_BYTES)
    return memoryview(packed.buffer) if packed.header.size_bytes < len(plain) else plain
