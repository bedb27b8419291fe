"""What can be chosen about the log."""

from typing import Annotated

import msgspec
from msgspec import Meta

_MIB = 1 << 20
_MINUTE_MS = 60_000
_DAY_MS = 24 * 60 * _MINUTE_MS


class LogSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sizes, waits and bounds of the write and read paths."""

    flush_bytes: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 30,
            description="Seal the open WAL object of a domain when it holds this many bytes.",
        ),
    ] = 8 * _MIB
    linger_ms: Annotated[
        int,
        Meta(
            ge=0,
            description="While earlier objects are on their way, seal the open one after this long "
            "at the latest. When none is, or when it is large and the one before it is being committed, it "
            "is sealed at once.",
        ),
    ] = 20
    puts_in_flight_max: Annotated[
        int, Meta(ge=1, description="WAL objects of one domain that are written to object storage at a time.")
    ] = 4
    streams_per_object_max: Annotated[
        int,
        Meta(
            ge=1,
            description="Seal when the open object holds this many streams; bounds the size of a commit.",
        ),
    ] = 512
    batches_per_object_max: Annotated[
        int,
        Meta(
            ge=1,
            description="Seal when the open object holds this many batches; bounds the size of a commit.",
        ),
    ] = 8192
    buffer_bytes_max: Annotated[
        int,
        Meta(ge=1, description="Bytes accepted and not yet acknowledged; when reached, appends wait."),
    ] = 256 * _MIB
    recent_bytes_max: Annotated[
        int, Meta(ge=0, description="Bytes of own just-committed batches kept in memory for tailing readers.")
    ] = 64 * _MIB
    range_cache_bytes_max: Annotated[
        int, Meta(ge=0, description="Bytes of chunks read from object storage kept in memory.")
    ] = 128 * _MIB
    parquet_cache_bytes_max: Annotated[
        int, Meta(ge=0, description="Bytes of batches made from Parquet files kept in memory.")
    ] = 64 * _MIB
    index_cache_bytes_max: Annotated[
        int, Meta(ge=1, description="Bytes of offset-index entries kept in memory.")
    ] = 64 * _MIB
    reading_bytes_max: Annotated[
        int,
        Meta(ge=1, description="Bytes of chunks on their way from object storage; when reached, reads wait."),
    ] = 128 * _MIB
    readahead_chunks: Annotated[
        int,
        Meta(
            ge=0,
            description="Chunks read ahead, at least, of a reader that is catching up; 0 reads none.",
        ),
    ] = 4
    reservations: Annotated[
        int,
        Meta(ge=1, description="Staging markers written ahead in one commit, so that a flush need not wait."),
    ] = 32
    producer_snapshot_entries: Annotated[
        int, Meta(ge=1, description="Write a stream's producer snapshot after this many index entries.")
    ] = 64
    producer_id_expiration_ms: Annotated[
        int, Meta(ge=1, description="Forget an idempotent producer that was silent for this long.")
    ] = _DAY_MS
    wal_orphan_ttl_ms: Annotated[
        int,
        Meta(
            ge=60_000,
            description="Delete a WAL object or Parquet file that nothing ever named after this long.",
        ),
    ] = _DAY_MS
    wal_gc_grace_ms: Annotated[
        int, Meta(ge=0, description="Wait this long before deleting a WAL object that nothing points to.")
    ] = 10 * _MINUTE_MS
    file_gc_grace_ms: Annotated[
        int,
        Meta(ge=0, description="Wait this long before deleting a Parquet file that index and table gave up."),
    ] = 60 * _MINUTE_MS
