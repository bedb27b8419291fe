"""Settings of the log."""

from typing import Annotated

import msgspec
from msgspec import Meta

_MIB = 1 << 20
_MINUTE_MS = 60_000
_DAY_MS = 24 * 60 * _MINUTE_MS


class LogSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Buffers, caches and grace periods of the write and read paths."""

    flush_bytes: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 30,
            description="Flush the open WAL object of a domain once it holds this many bytes.",
        ),
    ] = 8 * _MIB
    linger_ms: Annotated[
        int,
        Meta(
            ge=0,
            description="Maximum time before the open WAL object of a domain is flushed while earlier ones "
            "are in flight. With none in flight it is flushed immediately, unless four objects of other "
            "domains are; a large one is flushed while its predecessor commits. While small batches of many "
            "streams keep coming, up to ten times as long.",
        ),
    ] = 20
    puts_in_flight_max: Annotated[
        int, Meta(ge=1, description="Maximum number of concurrent puts of WAL objects per domain.")
    ] = 4
    streams_per_object_max: Annotated[
        int,
        Meta(
            ge=1,
            description="Flush once the open WAL object holds this many streams; limits the size of a "
            "commit.",
        ),
    ] = 512
    batches_per_object_max: Annotated[
        int,
        Meta(
            ge=1,
            description="Flush once the open WAL object holds this many batches; limits the size of a "
            "commit.",
        ),
    ] = 8192
    buffer_bytes_max: Annotated[
        int,
        Meta(ge=1, description="Maximum bytes of unacknowledged batches; at the limit appends wait."),
    ] = 256 * _MIB
    tail_cache_bytes_max: Annotated[
        int,
        Meta(
            ge=0, description="Cache size for batches that this broker just committed, for tailing readers."
        ),
    ] = 64 * _MIB
    range_cache_bytes_max: Annotated[
        int, Meta(ge=0, description="Cache size for WAL chunks read from object storage.")
    ] = 128 * _MIB
    parquet_cache_bytes_max: Annotated[
        int, Meta(ge=0, description="Cache size for batches encoded from Parquet files.")
    ] = 64 * _MIB
    index_cache_bytes_max: Annotated[int, Meta(ge=1, description="Cache size for offset-index entries.")] = (
        64 * _MIB
    )
    read_in_flight_bytes_max: Annotated[
        int,
        Meta(
            ge=1, description="Maximum bytes of reads from object storage in flight; at the limit reads wait."
        ),
    ] = 128 * _MIB
    readahead_chunks: Annotated[
        int,
        Meta(
            ge=0,
            description="Minimum number of chunks to prefetch for a reader that is catching up; "
            "0 disables prefetching.",
        ),
    ] = 4
    staging_markers_ahead: Annotated[
        int,
        Meta(
            ge=1,
            description="Number of staging markers to write ahead in one commit, so that no flush waits.",
        ),
    ] = 32
    producer_snapshot_entries: Annotated[
        int,
        Meta(
            ge=1, description="Write a snapshot of a stream's producer state every this many index entries."
        ),
    ] = 64
    producer_id_expiration_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="Expire the state of an idempotent producer that was idle for this long "
            "(Kafka: `producer.id.expiration.ms`).",
        ),
    ] = _DAY_MS
    orphan_ttl_ms: Annotated[
        int,
        Meta(
            ge=60_000,
            description="Delete a WAL object or Parquet file that was never referenced after this long.",
        ),
    ] = _DAY_MS
    wal_gc_grace_ms: Annotated[
        int, Meta(ge=0, description="Grace period before a WAL object without references is deleted.")
    ] = 10 * _MINUTE_MS
    file_gc_grace_ms: Annotated[
        int,
        Meta(
            ge=0,
            description="Grace period before a Parquet file that neither index nor table references is "
            "deleted.",
        ),
    ] = 60 * _MINUTE_MS
