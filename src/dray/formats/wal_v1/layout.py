"""Where everything lies in a WAL object, version 1; docs/formats/wal-v1.md is the full page.

All numbers are big-endian.

    header 49 | chunk bodies, in stream order, without gaps | chunk index, 44 a chunk | CRC32C 4 bytes

The size of an object follows from its header alone, so a torn one is known without reading it all.
"""

from struct import Struct
from typing import Final, NamedTuple

from dray.ids import MetaDomain, StreamId, WalId

MAGIC: Final = b"DRAYWO1"
VERSION: Final = 1
HEADER: Final = Struct(">7sH16sIqIQ")
INDEX_ENTRY: Final = Struct(">QQIIIqq")
BATCH_LENGTH: Final = Struct(">I")
FOOTER: Final = Struct(">I")
U32_MAX: Final = 2**32 - 1


class WalHeader(NamedTuple):
    """The fixed start of an object."""

    wal_id: WalId
    domain: MetaDomain
    created_at_ms: int
    chunk_count: int
    chunk_index_offset: int

    @property
    def chunk_index_length(self) -> int:
        return self.chunk_count * INDEX_ENTRY.size

    @property
    def size_bytes(self) -> int:
        """The size that the whole object must have."""
        return self.chunk_index_offset + self.chunk_index_length + FOOTER.size


class ChunkEntry(NamedTuple):
    """One line of the chunk index: where a stream's batches lie, and what they span."""

    stream: StreamId
    chunk_offset: int
    chunk_length: int
    record_count: int
    batch_count: int
    min_timestamp_ms: int
    max_timestamp_ms: int

    @property
    def chunk_end(self) -> int:
        return self.chunk_offset + self.chunk_length
