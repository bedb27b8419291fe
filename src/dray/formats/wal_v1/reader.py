"""Reader of WAL objects, version 1, whole or by ranges.

By ranges: `read_header` of the first 49 bytes, `read_chunk_index` of the range in the header, `iter_batches`
of one chunk. Whole: `decode`, which also verifies the CRC. Batches are views of the input. `name` is only
for the message of `CorruptWal`.

Every number is compared with the available bytes before it is used, so a hostile object cannot take more
memory than it has bytes (times a small factor for the tuples that describe its batches).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from crc32c import crc32c
from typing_extensions import Buffer

from dray.formats.wal_v1.layout import (
    BATCH_LENGTH,
    FOOTER,
    HEADER,
    INDEX_ENTRY,
    MAGIC,
    VERSION,
    ChunkEntry,
    CorruptWal,
    UnknownWalVersion,
    WalHeader,
)
from dray.ids import MetaDomain, StreamId, WalId

_VERSION_AT = len(MAGIC)
_INDEX_OFFSET_AT = HEADER.size - 8


@dataclass(frozen=True, slots=True)
class DecodedChunk:
    """A chunk's entry in the index, and its batches as views, each with its offset in the chunk."""

    entry: ChunkEntry
    batches: tuple[tuple[int, memoryview], ...]


@dataclass(frozen=True, slots=True)
class DecodedWal:
    """A whole, verified object."""

    header: WalHeader
    chunks: tuple[DecodedChunk, ...]


def read_header(name: str, start: Buffer) -> WalHeader:
    """Read the header from at least the first 49 bytes of an object."""
    view = memoryview(start)
    if len(view) < HEADER.size:
        raise CorruptWal(name, len(view), f"it ends inside the header, which takes {HEADER.size} bytes")
    magic, version, wal_id, domain, created_at_ms, chunk_count, index_offset = HEADER.unpack_from(view)
    if magic != MAGIC:
        raise CorruptWal(name, 0, f"it starts with {magic!r}, a WAL object starts with {MAGIC!r}")
    if version != VERSION:
        raise UnknownWalVersion(
            name, _VERSION_AT, f"unknown version {version}: written by a newer Dray, or damaged"
        )
    if not chunk_count:
        raise CorruptWal(name, _INDEX_OFFSET_AT - 4, "it has no chunks")
    if index_offset < HEADER.size:
        raise CorruptWal(
            name, _INDEX_OFFSET_AT, f"the chunk index would start at {index_offset}, in the header"
        )
    return WalHeader(WalId(wal_id), MetaDomain(domain), created_at_ms, chunk_count, index_offset)


def read_chunk_index(name: str, header: WalHeader, index: Buffer) -> tuple[ChunkEntry, ...]:
    """Read the chunk index from exactly its bytes, and verify that the chunks fill the object's body."""
    view = memoryview(index)
    if len(view) != header.chunk_index_length:
        raise CorruptWal(
            name,
            header.chunk_index_offset,
            f"{header.chunk_count} chunks take {header.chunk_index_length} bytes of index, not {len(view)}",
        )
    entries = tuple(ChunkEntry(StreamId(stream), *rest) for stream, *rest in INDEX_ENTRY.iter_unpack(view))
    _check_tiling(name, header, entries)
    return entries


def verify(name: str, whole: Buffer) -> WalHeader:
    """Verify size and CRC of a whole object, and return its header."""
    view = memoryview(whole)
    header = read_header(name, view)
    if len(view) != header.size_bytes:
        raise CorruptWal(
            name, len(view), f"it has {len(view)} bytes and by its header must have {header.size_bytes}"
        )
    end = len(view) - FOOTER.size
    (stored,) = FOOTER.unpack_from(view, end)
    actual = crc32c(view[:end])
    if stored != actual:
        raise CorruptWal(name, end, f"footer CRC mismatch: stored {stored:08x}, computed {actual:08x}")
    return header


def iter_batches(name: str, entry: ChunkEntry, chunk: Buffer) -> Iterator[tuple[int, memoryview]]:
    """Yield each batch of a chunk with its offset in the chunk; `chunk` is exactly the chunk's bytes."""
    view = memoryview(chunk)
    if len(view) != entry.chunk_length:
        raise CorruptWal(name, entry.chunk_offset, f"{len(view)} bytes of a chunk of {entry.chunk_length}")
    position = 0
    for _ in range(entry.batch_count):
        end = _batch_end(name, entry, view, position)
        yield position + BATCH_LENGTH.size, view[position + BATCH_LENGTH.size : end]
        position = end
    if position != len(view):
        left, batches = len(view) - position, f"the {entry.batch_count} batches of stream {entry.stream:016x}"
        raise CorruptWal(name, entry.chunk_offset + position, f"{left} bytes remain after {batches}")


def decode(name: str, whole: Buffer) -> DecodedWal:
    """Verify and read a whole object."""
    view = memoryview(whole)
    header = verify(name, view)
    index = view[header.chunk_index_offset : -FOOTER.size]
    chunks = []
    for entry in read_chunk_index(name, header, index):
        body = view[entry.chunk_offset : entry.chunk_end]
        chunks.append(DecodedChunk(entry, tuple(iter_batches(name, entry, body))))
    return DecodedWal(header, tuple(chunks))


def _check_tiling(name: str, header: WalHeader, entries: tuple[ChunkEntry, ...]) -> None:
    """Streams must ascend, and bodies follow in the same order, without gaps or overlaps, up to the index."""
    expected_offset, stream_before = HEADER.size, -1
    for number, entry in enumerate(entries):
        at = header.chunk_index_offset + number * INDEX_ENTRY.size
        if entry.stream <= stream_before:
            raise CorruptWal(name, at, f"stream {entry.stream:016x} comes after stream {stream_before:016x}")
        if entry.chunk_offset != expected_offset:
            raise CorruptWal(
                name,
                at,
                f"stream {entry.stream:016x}'s chunk is at {entry.chunk_offset}, not at {expected_offset}",
            )
        _check_batch_count(name, at, entry)
        expected_offset, stream_before = entry.chunk_end, entry.stream
    if expected_offset != header.chunk_index_offset:
        raise CorruptWal(
            name,
            header.chunk_index_offset,
            f"the chunks end at {expected_offset}, the index starts at {header.chunk_index_offset}",
        )


def _check_batch_count(name: str, at: int, entry: ChunkEntry) -> None:
    if not 1 <= entry.batch_count <= entry.chunk_length // BATCH_LENGTH.size:
        raise CorruptWal(
            name,
            at,
            f"{entry.batch_count} batches of stream {entry.stream:016x} in {entry.chunk_length} bytes",
        )


def _batch_end(name: str, entry: ChunkEntry, chunk: memoryview, position: int) -> int:
    start = position + BATCH_LENGTH.size
    if start > len(chunk):
        raise CorruptWal(
            name, entry.chunk_offset + position, f"stream {entry.stream:016x}'s chunk ends in a batch length"
        )
    (length,) = BATCH_LENGTH.unpack_from(chunk, position)
    end: int = start + length
    if not length or end > len(chunk):
        raise CorruptWal(
            name,
            entry.chunk_offset + position,
            f"a batch of stream {entry.stream:016x} has length {length}; expected 1 to {len(chunk) - start}",
        )
    return end
