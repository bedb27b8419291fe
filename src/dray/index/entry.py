"""Stream heads and index entries, and their stored form.

Every change of a stream checks its *head*, one key, so its changes are totally ordered. An *entry* locates
the records of `[start_offset, end_offset)`. Both are stored as MessagePack arrays that begin with a tag. A
field with a default may be added at the end: older values lack it, and older processes ignore it. Any other
change of layout gets a new tag, and the old one stays readable.
"""

import msgspec

from dray.ids import FileId, StreamId, WalId
from dray.index.batches import BatchRows
from dray.index.row_groups import GroupRows
from dray.index.stored import decoded

NO_TIMESTAMP = -1


class StreamHead(msgspec.Struct, frozen=True, array_like=True, tag="h1"):
    """The current state of a stream."""

    high_watermark: int = 0
    """The next offset to be assigned; every offset below it is committed."""
    log_start: int = 0
    """The first readable offset."""
    cumulative_size: int = 0
    """Bytes of all chunks ever committed to the stream, deleted ones included."""
    max_timestamp_ms: int = NO_TIMESTAMP
    """The greatest timestamp ever committed to the stream."""
    snapshot_end: int = 0
    """The producer snapshot includes every offset below this one."""
    unsnapshotted: int = 0
    """Number of entries to replay on top of the snapshot."""
    deleted: bool = False
    """The stream is deleted; the sweep removes what is left of it."""


class WalEntry(msgspec.Struct, frozen=True, array_like=True, tag="w1"):
    """Records in one stream's chunk of a WAL object."""

    stream: StreamId
    start_offset: int
    end_offset: int
    cumulative_size: int
    created_at_ms: int
    record_count: int
    min_timestamp_ms: int
    max_timestamp_ms: int
    running_max_timestamp_ms: int
    """The greatest timestamp of this and all earlier entries: it never decreases, so it can be bisected."""
    wal_id: WalId
    wal_path: str
    chunk_offset: int
    chunk_length: int
    packed_rows: bytes
    wal_bytes: int = 0
    """Size of the whole WAL object; 0 in entries written before this field existed."""

    @property
    def rows(self) -> BatchRows:
        return BatchRows(self.packed_rows)

    @property
    def path(self) -> str:
        return self.wal_path

    @property
    def ingested_bytes(self) -> int:
        """Size of its records when they were produced."""
        return self.chunk_length

    @property
    def stored_bytes(self) -> int:
        """Size of its records as they are stored now."""
        return self.chunk_length


class ParquetEntry(msgspec.Struct, frozen=True, array_like=True, tag="p1"):
    """Records in one Parquet file of one stream. There may be none, and offsets may have gaps.

    It covers the range of the entries that it replaced, from the first start to the last end, and keeps the
    running values of the last one, so that later entries stay valid. Only times later than the headers of
    its batches stated raise the running maximum, its own and that of later entries.
    """

    stream: StreamId
    start_offset: int
    end_offset: int
    cumulative_size: int
    """Copied from the last entry replaced: counts bytes as produced, not bytes of the file."""
    ingested_bytes: int
    """Size of its records when they were produced."""
    created_at_ms: int
    record_count: int
    min_timestamp_ms: int
    max_timestamp_ms: int
    running_max_timestamp_ms: int
    file_id: FileId
    path: str
    size_bytes: int
    footer_bytes: int
    """Length of the end of the file that must be read before any row group can be decoded."""
    footer_crc: int
    """CRC-32C of those bytes, checked before they are decoded."""
    packed_groups: bytes

    @property
    def groups(self) -> GroupRows:
        return GroupRows(self.packed_groups)

    @property
    def stored_bytes(self) -> int:
        """Size of its records as they are stored now."""
        return self.size_bytes


IndexEntry = WalEntry | ParquetEntry


def newest_ms(entry: IndexEntry) -> int:
    """Return the greatest record timestamp, or the entry's creation time if its records have no timestamps.

    librdkafka sends 0 as the greatest timestamp of a batch whose records have none.
    """
    is_timed = entry.max_timestamp_ms > 0 or entry.min_timestamp_ms >= 0
    return entry.max_timestamp_ms if is_timed else entry.created_at_ms


_encoder = msgspec.msgpack.Encoder()
_heads = msgspec.msgpack.Decoder(StreamHead)
_entries: msgspec.msgpack.Decoder[IndexEntry] = msgspec.msgpack.Decoder(IndexEntry)


def encode_head(head: StreamHead) -> bytes:
    return _encoder.encode(head)


def decode_head(key: str, value: bytes) -> StreamHead:
    return decoded(_heads, key, value, "a stream head")


def encode_entry(entry: IndexEntry) -> bytes:
    return _encoder.encode(entry)


def decode_entry(key: str, value: bytes) -> IndexEntry:
    return decoded(_entries, key, value, "an index entry")
