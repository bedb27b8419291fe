"""Row groups of Parquet files into record batches.

Needs `dray[tables]`; so a broker does not import this before it meets the first file.
"""

from dray.formats.parquet_v1 import ParquetError, read_footer, read_group
from dray.log.row_groups import EncodedGroup, EncodedSpan, GroupBytes, GroupUnreadable
from dray.records import RecordError
from dray.records.columns import encode


def encode_group(group: GroupBytes) -> EncodedGroup:
    """Decode a group and encode its records again; takes milliseconds, so it belongs in a thread."""
    try:
        footer = read_footer(group.tail, group.tail_crc)
        encoded = encode(read_group(footer, group.number, group.position, group.data))
    except (ParquetError, RecordError) as error:
        raise GroupUnreadable(f"row group {group.number} is damaged: {error}") from error
    spans = [
        EncodedSpan(span.start, span.end, span.base_offset, span.last_offset, span.max_timestamp_ms)
        for span in encoded.spans
    ]
    return EncodedGroup(encoded.buffer, spans)
