"""Builders of index entries and stream heads for plan tests."""

from collections.abc import Sequence

from dray.ids import FileId, StreamId, WalId
from dray.index import IndexEntry, ParquetEntry, StreamHead, WalEntry

STREAM = StreamId(7)


def wal_entry(
    start: int, end: int, *, size_bytes: int = 100, created_at_ms: int = 0, newest_ms: int | None = None
) -> WalEntry:
    return WalEntry(
        stream=STREAM,
        start_offset=start,
        end_offset=end,
        cumulative_size=end * 10,
        created_at_ms=created_at_ms,
        record_count=end - start,
        min_timestamp_ms=start,
        max_timestamp_ms=end if newest_ms is None else newest_ms,
        running_max_timestamp_ms=end if newest_ms is None else newest_ms,
        wal_id=WalId(end.to_bytes(16, "big")),
        wal_path=f"wal/{end}.wo",
        chunk_offset=49,
        chunk_length=size_bytes,
        packed_rows=b"",
    )


def parquet_entry(
    start: int,
    end: int,
    *,
    size_bytes: int = 100,
    ingested_bytes: int | None = None,
    newest_ms: int | None = None,
) -> ParquetEntry:
    return ParquetEntry(
        stream=STREAM,
        start_offset=start,
        end_offset=end,
        cumulative_size=end * 10,
        ingested_bytes=(end - start) * 10 if ingested_bytes is None else ingested_bytes,
        created_at_ms=0,
        record_count=end - start,
        min_timestamp_ms=start,
        max_timestamp_ms=end if newest_ms is None else newest_ms,
        running_max_timestamp_ms=end if newest_ms is None else newest_ms,
        file_id=FileId(end.to_bytes(16, "big")),
        path=f"{end}.parquet",
        size_bytes=size_bytes,
        footer_bytes=10,
        footer_crc=0,
        packed_groups=b"",
    )


def head_over(
    entries: Sequence[IndexEntry], *, log_start: int = 0, snapshot_end: int | None = None
) -> StreamHead:
    end = entries[-1].end_offset
    return StreamHead(
        high_watermark=end, log_start=log_start, snapshot_end=end if snapshot_end is None else snapshot_end
    )
