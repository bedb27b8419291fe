"""Writer of WAL objects, version 1.

Batches are not joined or copied: an object is a list of parts for a scatter-gather put, and each batch is the
buffer it was received in. The footer's CRC is computed part by part; for a batch of 16 KiB that takes about a
microsecond, much less than any object store. The caller must not change the buffers until the put has ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

import msgspec
from crc32c import crc32c
from typing_extensions import Buffer

from dray.formats.wal_v1.layout import (
    BATCH_LENGTH,
    FOOTER,
    HEADER,
    INDEX_ENTRY,
    MAGIC,
    U32_MAX,
    VERSION,
    WalHeader,
)
from dray.ids import MetaDomain, StreamId, WalId


class ChunkDraft(msgspec.Struct, frozen=True):
    """The batches of one stream for one object, at least one, in the order they were received."""

    stream: StreamId
    batches: Sequence[Buffer]
    record_count: int
    min_timestamp_ms: int
    max_timestamp_ms: int


class PlacedChunk(msgspec.Struct, frozen=True):
    """The position of a draft in the object.

    `batch_offsets` are relative to the start of the chunk and point to the first byte of each batch, after
    its length.
    """

    stream: StreamId
    chunk_offset: int
    chunk_length: int
    batch_offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EncodedWal:
    """An object ready to be stored: its bytes in order, and its chunks in the order of stream ids."""

    parts: list[Buffer]
    size_bytes: int
    chunks: tuple[PlacedChunk, ...]


def encode(wal_id: WalId, domain: MetaDomain, created_at_ms: int, chunks: Sequence[ChunkDraft]) -> EncodedWal:
    """Encode an object. The drafts may be in any order, with each stream only once."""
    drafts = sorted(chunks, key=attrgetter("stream"))
    _check(wal_id, drafts)
    parts: list[Buffer] = [b""]
    placed, entries = [], []
    position = HEADER.size
    for draft in drafts:
        chunk = _place(draft, position, parts)
        placed.append(chunk)
        entries.append(_index_entry(draft, chunk))
        position += chunk.chunk_length
    header = WalHeader(wal_id, domain, created_at_ms, len(drafts), position)
    parts[0] = HEADER.pack(MAGIC, VERSION, *header)
    parts.append(b"".join(entries))
    parts.append(FOOTER.pack(_checksum(parts)))
    return EncodedWal(parts, header.size_bytes, tuple(placed))


def _check(wal_id: WalId, drafts: Sequence[ChunkDraft]) -> None:
    if len(wal_id) != 16:
        raise ValueError(f"a WAL id has 16 bytes, not {len(wal_id)}")
    if not drafts:
        raise ValueError("a WAL object needs at least one chunk")
    for draft in drafts:
        if not draft.batches:
            raise ValueError(f"the chunk of stream {draft.stream:016x} has no batch")
    for before, draft in pairwise(drafts):
        if before.stream == draft.stream:
            raise ValueError(f"stream {draft.stream:016x} has more than one chunk")


def _place(draft: ChunkDraft, chunk_offset: int, parts: list[Buffer]) -> PlacedChunk:
    """Append a chunk's body to `parts`. The loop runs for every produced batch."""
    offsets = []
    position = 0
    pack = BATCH_LENGTH.pack
    for batch in draft.batches:
        size = memoryview(batch).nbytes
        if not size:
            raise ValueError(f"the chunk of stream {draft.stream:016x} has an empty batch")
        position += 4
        offsets.append(position)
        position += size
        parts.append(pack(size))
        parts.append(batch)
    if position > U32_MAX:
        raise ValueError(
            f"the chunk of stream {draft.stream:016x} has {position} bytes, at most {U32_MAX} fit"
        )
    return PlacedChunk(draft.stream, chunk_offset, position, tuple(offsets))


def _index_entry(draft: ChunkDraft, chunk: PlacedChunk) -> bytes:
    """Pack the fields of a `ChunkEntry`, which need not be made for it."""
    return INDEX_ENTRY.pack(
        draft.stream,
        chunk.chunk_offset,
        chunk.chunk_length,
        draft.record_count,
        len(draft.batches),
        draft.min_timestamp_ms,
        draft.max_timestamp_ms,
    )


def _checksum(parts: Sequence[Buffer]) -> int:
    crc = 0
    for part in parts:
        crc = crc32c(part, crc)
    return crc
