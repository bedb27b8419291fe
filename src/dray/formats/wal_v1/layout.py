"""Layout of a WAL object, version 1; docs/formats/wal-v1.md is the full page.

All numbers are big-endian.

    header 49 | chunk bodies, in stream order, without gaps | chunk index, 44 a chunk | CRC32C 4 bytes

The size of an object follows from its header alone, so a truncated one is known without reading it all. An
object that cannot be read raises one of two errors:

    CorruptWal               it is damaged: restore it
    └── UnknownWalVersion    it may be valid, but this Dray is too old for it
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


class CorruptWal(Exception):
    """The object is not a valid WAL object."""

    def __init__(self, name: str, position: int, cause: str) -> None:
        super().__init__(f"WAL object {name} is corrupt at byte {position}: {cause}")
        self.name = name
        self.position = position
        self.cause = cause


class UnknownWalVersion(CorruptWal):
    """The object has a version that this code does not know."""


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
        """The size of the whole object."""
        return self.chunk_index_offset + self.chunk_index_length + FOOTER.size


class ChunkEntry(NamedTuple):
    """One entry of the chunk index: the position of a stream's batches, their counts and times."""

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
