"""Output of `dray index show`, as text and as JSON."""

from typing import Final

import msgspec

from dray.cli.render.formats import iso, table
from dray.index import IndexEntry, ParquetEntry
from dray.server.index_query import StreamIndex

_COLUMNS: Final = ("start", "end", "records", "batches", "max time", "bytes", "position", "object")


def as_json(found: StreamIndex) -> dict[str, object]:
    return {
        "stream": f"{found.stream:016x}",
        "domain": found.domain,
        "head": msgspec.structs.asdict(found.head),
        "entries": [_entry_json(entry) for entry in found.entries],
        "more": found.more,
    }


def _entry_json(entry: IndexEntry) -> dict[str, object]:
    return {
        "start_offset": entry.start_offset,
        "end_offset": entry.end_offset,
        "records": entry.record_count,
        "min_timestamp_ms": entry.min_timestamp_ms,
        "max_timestamp_ms": entry.max_timestamp_ms,
        "created_at_ms": entry.created_at_ms,
        "cumulative_size": entry.cumulative_size,
        "object": entry.path,
        **_place_json(entry),
    }


def _place_json(entry: IndexEntry) -> dict[str, object]:
    if isinstance(entry, ParquetEntry):
        return {"size_bytes": entry.size_bytes, "row_groups": [row._asdict() for row in entry.groups]}
    return {
        "chunk_offset": entry.chunk_offset,
        "chunk_length": entry.chunk_length,
        "batches": [row._asdict() for row in entry.rows],
    }


def as_text(found: StreamIndex) -> str:
    head = found.head
    lines = [
        f"stream {found.stream:016x} in domain {found.domain}{', deleted' if head.deleted else ''}",
        f"  log start {head.log_start}, next offset {head.high_watermark}",
        f"  {head.cumulative_size} bytes ever written, newest record {iso(head.max_timestamp_ms)}",
    ]
    if found.entries:
        lines += [f"  {line}" for line in table(_COLUMNS, [_row(entry) for entry in found.entries])]
    if found.more:
        lines.append(f"  … more from offset {found.entries[-1].end_offset}: use --from or --limit")
    return "\n".join(lines)


def _row(entry: IndexEntry) -> tuple[object, ...]:
    if isinstance(entry, ParquetEntry):
        pieces, length, position = len(entry.groups), entry.size_bytes, 0
    else:
        pieces, length, position = len(entry.rows), entry.chunk_length, entry.chunk_offset
    return (
        entry.start_offset,
        entry.end_offset,
        entry.record_count,
        pieces,
        iso(entry.max_timestamp_ms),
        length,
        position,
        entry.path,
    )
