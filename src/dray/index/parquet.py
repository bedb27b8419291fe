"""The index entry of records that lie in a Parquet file.

One entry is one file of one stream. It stands where the entries stood that it replaced, from the first one's
start to the last one's end, and keeps the last one's running values: so everything behind it stays true.
"""

import msgspec

from dray.ids import FileId, StreamId
from dray.index.row_groups import GroupRows


class ParquetEntry(msgspec.Struct, frozen=True, array_like=True, tag="p1"):
    """Records that lie in a Parquet file. There may be none, and between them there may be gaps."""

    stream: StreamId
    start_offset: int
    end_offset: int
    cumulative_size: int
    """As of the last entry replaced: bytes as they came, not as they lie in the file."""
    came_bytes: int
    """What its records took when they came."""
    created_at_ms: int
    record_count: int
    min_timestamp_ms: int
    max_timestamp_ms: int
    running_max_timestamp_ms: int
    file_id: FileId
    path: str
    size_bytes: int
    footer_bytes: int
    """Length of what must be read at the end of the file before any group can be understood."""
    footer_crc: int
    """CRC-32C of those bytes: a damaged footer must never reach those who decode it."""
    packed_groups: bytes

    @property
    def groups(self) -> GroupRows:
        return GroupRows(self.packed_groups)

    @property
    def stored_bytes(self) -> int:
        """What its records take now."""
        return self.size_bytes
