"""Contents of a WAL object; pure."""

from dataclasses import dataclass

from typing_extensions import Buffer

from dray.formats.wal_v1 import ChunkEntry, CorruptWal, WalHeader, iter_batches, read_chunk_index, read_header
from dray.formats.wal_v1 import verify as verify_whole
from dray.records import BatchHeader, RecordError, decode_batch, parse_header


@dataclass(frozen=True, slots=True)
class InspectedBatch:
    """A batch and its position in the object."""

    at: int
    header: BatchHeader


@dataclass(frozen=True, slots=True)
class InspectedWal:
    """An object's header, chunks and batches."""

    name: str
    header: WalHeader
    chunks: list[tuple[ChunkEntry, list[InspectedBatch]]]
    verified: bool


def inspect_wal(name: str, whole: Buffer, *, verify: bool) -> InspectedWal:
    """Parse an object, and with `verify` check every CRC and record; raises `CorruptWal`."""
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
