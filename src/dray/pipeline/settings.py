"""What can be chosen about compaction."""

from typing import Annotated

import msgspec
from msgspec import Meta

_MIB = 1 << 20


class CompactionSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When WAL ranges become Parquet, and how large the files should be."""

    wal_age_ms_max: Annotated[
        int, Meta(ge=0, description="Compact a stream when its oldest record outside Parquet is this old.")
    ] = 30_000
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
        int, Meta(ge=2, description="Merge neighbouring small files when there are this many of like size.")
    ] = 8
