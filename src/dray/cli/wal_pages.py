"""A WAL object as people see it, as text or JSON. Pure."""

from dataclasses import dataclass
from typing import Final

from typing_extensions import Buffer

from dray.cli.instants import iso
from dray.cli.tables import table
from dray.formats.wal_v1 import ChunkEntry, CorruptWal, WalHeader, iter_batches, read_chunk_index, read_header
from dray.formats.wal_v1 import verify as verify_whole
from dray.records import BatchHeader, Codec, RecordError, decode_batch, parse_header

_COLUMNS: Final = ("at", "bytes", "records", "codec", "max time", "producer", "epoch", "sequence")


@dataclass(frozen=True, slots=True)
class InspectedBatch:
    """A batch, and where in the object its bytes begin."""

    at: int
    header: BatchHeader


@dataclass(frozen=True, slots=True)
class InspectedWal:
    """What was found in an object."""

    name: str
    header: WalHeader
    chunks: list[tuple[ChunkEntry, list[InspectedBatch]]]
    verified: bool


def inspected(name: str, whole: Buffer, *, verify: bool) -> InspectedWal:
    """Read an object; `CorruptWal` says what is wrong with it."""
    view = memoryview(whole)
    header = verify_whole(name, view) if verify else read_header(name, view)
    index = view[header.chunk_index_offset : header.chunk_index_offset + header.chunk_index_length]
    chunks = [
        (entry, _batches(name, entry, view[entry.chunk_offset : entry.chunk_end], verify=verify))
        for entry in read_chunk_index(name, header, index)
    ]
    return InspectedWal(name, header, chunks, verify)


def _batches(name: str, entry: ChunkEntry, chunk: memoryview, *, verify: bool) -> list[InspectedBatch]:
    found = []
    for offset, batch in iter_batches(name, entry, chunk):
        at = entry.chunk_offset + offset
        try:
            if verify:
                decode_batch(batch)
            found.append(InspectedBatch(at, parse_header(batch)))
        except RecordError as error:
            raise CorruptWal(name, at, error.message) from error
    return found


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
        "at": entry.chunk_offset,
        "size_bytes": entry.chunk_length,
        "records": entry.record_count,
        "min_timestamp_ms": entry.min_timestamp_ms,
        "max_timestamp_ms": entry.max_timestamp_ms,
        "batches": [_batch_json(batch) for batch in batches],
    }


def _batch_json(batch: InspectedBatch) -> dict[str, object]:
    header = batch.header
    return {
        "at": batch.at,
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
        f"  id {header.wal_id.hex()}, domain {header.domain}, made {iso(header.created_at_ms)}",
        f"  {header.size_bytes} bytes, {header.chunk_count} chunks, {_soundness(found)}",
    ]
    for entry, batches in found.chunks:
        lines += ["", *_chunk_text(entry, batches)]
    return "\n".join(lines)


def _soundness(found: InspectedWal) -> str:
    return "every CRC holds" if found.verified else "CRCs not checked (--verify does)"


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
