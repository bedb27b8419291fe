"""What can be chosen about compaction."""

from typing import Annotated

import msgspec
from msgspec import Meta

_MIB = 1 << 20
_MINUTE_MS = 60_000


class CompactionSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When WAL ranges become Parquet, how large the files should be, and how tables are looked after."""

    http: Annotated[
        Annotated[str, Meta(pattern=r"^(\[[0-9a-fA-F:.]+\]|[^:\s]+):[0-9]{1,5}$")] | None,
        Meta(
            description="Where a compactor shows its health and metrics; without it, nowhere.",
            extra={"allowed": "HOST:PORT"},
        ),
    ] = None
    interval_ms: Annotated[int, Meta(ge=1, description="How long a compactor rests between two turns.")] = (
        5_000
    )
    wal_age_ms_max: Annotated[
        int, Meta(ge=0, description="Compact a stream when its oldest record outside Parquet is this old.")
    ] = 15_000
    wal_bytes_max: Annotated[
        int, Meta(ge=1, description="Compact a stream when this many bytes of it are outside Parquet.")
    ] = 64 * _MIB
    wal_entries_max: Annotated[
        int,
        Meta(ge=1, description="Compact a stream when this many index entries of it are outside Parquet."),
    ] = 1_000
    file_bytes: Annotated[
        int, Meta(ge=1, description="How large Parquet files should become; larger ones are not merged.")
    ] = 128 * _MIB
    entries_per_file_max: Annotated[
        int, Meta(ge=1, description="Index entries that one file may replace; bounds the size of a swap.")
    ] = 2_000
    merge_files_min: Annotated[
        int,
        Meta(
            ge=2,
            description="Merge neighbouring small files when there are so many and none outweighs the rest, "
            "or when no more come into their step of retention.",
        ),
    ] = 8
    retry_ms_min: Annotated[
        int, Meta(ge=1, description="After a failure leave a topic or partition alone for this long.")
    ] = 5_000
    retry_ms_max: Annotated[
        int, Meta(ge=1, description="After failure upon failure, leave it alone for no longer than this.")
    ] = 10 * _MINUTE_MS
    snapshot_age_ms_max: Annotated[
        int,
        Meta(
            ge=0,
            description="Keep a table's snapshots for this long after the next one; a commit costs more the "
            "more of them there are.",
        ),
    ] = 10 * _MINUTE_MS
    expire_commits: Annotated[
        int,
        Meta(
            ge=1,
            description="Look for snapshots to expire after this many commits to a table; besides, once it "
            "has had none for compaction.snapshot_age_ms_max, and when its folder is looked through.",
        ),
    ] = 20
    table_orphan_ttl_ms: Annotated[
        int,
        Meta(
            ge=60_000,
            description="Delete files in a table's folder, metadata and what other engines have written, "
            "that no snapshot names and that are this old; another engine's job must not take longer.",
        ),
    ] = 3 * 24 * 60 * _MINUTE_MS
    table_sweep_interval_ms: Annotated[
        int, Meta(ge=1, description="Look for files in a table's folder that nothing names this often.")
    ] = 6 * 60 * _MINUTE_MS
    audit_interval_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="See that the Parquet files of a topic are all there, and in its table, this often.",
        ),
    ] = 60 * _MINUTE_MS
    clean_keys_max: Annotated[
        int,
        Meta(
            ge=1,
            description="How many records with new keys are cleaned of older ones at a time, on topics with "
            "cleanup.policy=compact; a worker takes 32 bytes of memory for each.",
        ),
    ] = 4_000_000
    clean_files_max: Annotated[
        int, Meta(ge=1, description="How many files of a stream one job of cleaning goes through.")
    ] = 256
