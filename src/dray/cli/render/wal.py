"""Output of `dray wal inspect`, as text and as JSON."""

from typing import Final

from dray.cli.render.formats import iso, table
from dray.formats.wal_v1 import ChunkEntry
from dray.records import Codec
from dray.server.wal_query import InspectedBatch, InspectedWal

_COLUMNS: Final = ("position", "bytes", "records", "codec", "max time", "producer", "epoch", "sequence")


def as_json(found: InspectedWal) -> dict[str, object]:
    header = found.header
    return {
        "name": found.name,
        "wal_id": header.wal_id.hex(),
        "domain": header.domain,
        "created_at_ms": header.created_at_ms,
        "size_bytes": header.size_bytes,
        "verified": found.verified,
        "chunks": [_chunk_json(entry, batches) for entry, batches in found.chunks],
    }


def _chunk_json(entry: ChunkEntry, batches: list[InspectedBatch]) -> dict[str, object]:
    return {
        "stream": f"{entry.stream:016x}",
        "position": entry.chunk_offset,
        "size_bytes": entry.chunk_length,
        "records": entry.record_count,
        "min_timestamp_ms": entry.min_timestamp_ms,
        "max_timestamp_ms": entry.max_timestamp_ms,
        "batches": [_batch_json(batch) for batch in batches],
    }


def _batch_json(batch: InspectedBatch) -> dict[str, object]:
    header = batch.header
    return {
        "position": batch.at,
        "size_bytes": header.size_bytes,
        "records": header.record_count,
        "codec": _codec(header.codec),
        "base_timestamp_ms": header.base_timestamp,
        "max_timestamp_ms": header.max_timestamp,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "crc": f"{header.crc:08x}",
    }


def as_text(found: InspectedWal) -> str:
    header = found.header
    lines = [
        f"WAL object {found.name}",
        f"  id {header.wal_id.hex()}, domain {header.domain}, created {iso(header.created_at_ms)}",
        f"  {header.size_bytes} bytes, {header.chunk_count} chunks, {_verification(found)}",
    ]
    for entry, batches in found.chunks:
        lines += ["", *_chunk_text(entry, batches)]
    return "\n".join(lines)


def _verification(found: InspectedWal) -> str:
    return "all CRCs match" if found.verified else "CRCs not checked (use --verify)"


def _chunk_text(entry: ChunkEntry, batches: list[InspectedBatch]) -> list[str]:
    span = f"{iso(entry.min_timestamp_ms)} to {iso(entry.max_timestamp_ms)}"
    rows = [
        (
            batch.at,
            batch.header.size_bytes,
            batch.header.record_count,
            _codec(batch.header.codec),
            iso(batch.header.max_timestamp),
            batch.header.producer_id,
            batch.header.producer_epoch,
            batch.header.base_sequence,
        )
        for batch in batches
    ]
    return [
        f"stream {entry.stream:016x}: {entry.chunk_length} bytes at {entry.chunk_offset}",
        f"  {entry.record_count} records in {entry.batch_count} batches, {span}",
        *(f"  {line}" for line in table(_COLUMNS, rows)),
    ]


def _codec(number: int) -> str:
    return Codec(number).name.lower() if number in Codec.__members__.values() else str(number)
