"""Stream heads and index entries, and how they are stored.

The *head* is the one key that every change of a stream checks, so all its changes form one order. An *entry*
says where the records of `[start_offset, end_offset)` are. Both are stored as MessagePack arrays that begin
with a tag. A field with a default may be added at the end: older values lack it, older processes skip it. Any
other change of layout gets a new tag, and the old one stays readable.
"""

import msgspec

from dray.ids import StreamId, WalId
from dray.index.batches import BatchRows
from dray.index.parquet import ParquetEntry
from dray.index.stored import decoded

NO_TIMESTAMP = -1


class StreamHead(msgspec.Struct, frozen=True, array_like=True, tag="h1"):
    """What is true of a stream now."""

    high_watermark: int = 0
    """The next offset to be given; every offset below it is committed."""
    log_start: int = 0
    """The first offset that may be read."""
    cumulative_size: int = 0
    """Bytes of all chunks ever committed to the stream, deleted ones included."""
    max_timestamp_ms: int = NO_TIMESTAMP
    """The greatest timestamp ever committed to the stream."""
    snapshot_end: int = 0
    """The producer snapshot tells of every offset below this one."""
    unsnapshotted: int = 0
    """How many entries must be replayed on top of the snapshot."""
    deleted: bool = False
    """The stream is gone; what is left of it waits for the sweep."""


class WalEntry(msgspec.Struct, frozen=True, array_like=True, tag="w1"):
    """Records that lie in one stream's chunk of a WAL object."""

    stream: StreamId
    start_offset: int
    end_offset: int
    cumulative_size: int
    created_at_ms: int
    record_count: int
    min_timestamp_ms: int
    max_timestamp_ms: int
    running_max_timestamp_ms: int
    """The greatest timestamp of this and every earlier entry: it never falls, so it can be searched."""
    wal_id: WalId
    wal_path: str
    chunk_offset: int
    chunk_length: int
    packed_rows: bytes
    wal_bytes: int = 0
    """How large the whole WAL object is; 0 in entries from before this was told."""

    @property
    def rows(self) -> BatchRows:
        return BatchRows(self.packed_rows)

    @property
    def path(self) -> str:
        return self.wal_path

    @property
    def came_bytes(self) -> int:
        """What its records took when they came."""
        return self.chunk_length

    @property
    def stored_bytes(self) -> int:
        """What they take now."""
        return self.chunk_length


IndexEntry = WalEntry | ParquetEntry


def newest_ms(entry: IndexEntry) -> int:
    """Return the timestamp of the youngest record; where none has one, when the last of them came.

    Of batches whose records have none, librdkafka says 0 for the youngest.
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
