"""Settings of compaction and table maintenance."""

from typing import Annotated

import msgspec
from msgspec import Meta

_MIB = 1 << 20
_MINUTE_MS = 60_000


class CompactionSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the WAL is rewritten as Parquet, how large the files become, and how tables are maintained."""

    http: Annotated[
        Annotated[str, Meta(pattern=r"^(\[[0-9a-fA-F:.]+\]|[^:\s]+):[0-9]{1,5}$")] | None,
        Meta(
            description="Address of a compactor's health and metrics endpoints; unset disables them.",
            extra={"allowed": "HOST:PORT"},
        ),
    ] = None
    interval_ms: Annotated[int, Meta(ge=1, description="Pause between two passes over all topics.")] = 5_000
    wal_age_ms_max: Annotated[
        int, Meta(ge=0, description="Compact a stream once its oldest record outside Parquet is this old.")
    ] = 15_000
    wal_bytes_max: Annotated[
        int, Meta(ge=1, description="Compact a stream once it has this many bytes outside Parquet.")
    ] = 64 * _MIB
    wal_entries_max: Annotated[
        int, Meta(ge=1, description="Compact a stream once it has this many index entries outside Parquet.")
    ] = 1_000
    file_bytes_target: Annotated[
        int,
        Meta(
            ge=1,
            le=1024 * _MIB,
            description="Target size of Parquet files; larger files are not merged. A worker holds one in "
            "memory, and puts it in one request.",
        ),
    ] = 128 * _MIB
    entries_per_file_max: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum number of index entries that one file replaces; limits the size of a "
            "commit.",
        ),
    ] = 2_000
    entries_per_job_max: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum number of index entries that one job replaces; a metadata store with "
            "smaller commits lowers it.",
        ),
    ] = 20_000
    merge_files_min: Annotated[
        int,
        Meta(
            ge=2,
            description="Merge adjacent small files once there are this many of similar size, or once no "
            "more "
            "files can join them before retention deletes them.",
        ),
    ] = 8
    retry_backoff_ms_min: Annotated[
        int, Meta(ge=1, description="Backoff after the first failure of a topic or partition.")
    ] = 5_000
    retry_backoff_ms_max: Annotated[
        int, Meta(ge=1, description="Maximum backoff after repeated failures of a topic or partition.")
    ] = 10 * _MINUTE_MS
    snapshot_age_ms_max: Annotated[
        int,
        Meta(
            ge=0,
            description="Expire a table snapshot this long after the next one; every commit costs more with "
            "more snapshots (Iceberg: `history.expire.max-snapshot-age-ms`).",
        ),
    ] = 10 * _MINUTE_MS
    snapshot_expiry_commits: Annotated[
        int,
        Meta(
            ge=1,
            description="Expire snapshots after this many commits to a table. It also happens after "
            "`snapshot_age_ms_max` without a commit, and with each sweep of the table's folder.",
        ),
    ] = 20
    table_orphan_ttl_ms: Annotated[
        int,
        Meta(
            ge=60_000,
            description="Delete files in a table's folder that no snapshot references and that are this old, "
            "including those of other engines, whose jobs must not run longer.",
        ),
    ] = 3 * 24 * 60 * _MINUTE_MS
    table_sweep_interval_ms: Annotated[
        int, Meta(ge=1, description="How often to sweep a table's folder for orphan files.")
    ] = 6 * 60 * _MINUTE_MS
    audit_interval_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="How often to check that all Parquet files of a topic exist and are in its table.",
        ),
    ] = 60 * _MINUTE_MS
    key_compaction_keys_max: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum number of new keys per cycle of key compaction (topics with "
            "`cleanup.policy=compact`); a worker uses 32 bytes of memory per key "
            "(compare Kafka's `log.cleaner.dedupe.buffer.size`).",
        ),
    ] = 4_000_000
    key_compaction_files_max: Annotated[
        int,
        Meta(ge=1, description="Maximum number of files of a stream that one key compaction job rewrites."),
    ] = 256
