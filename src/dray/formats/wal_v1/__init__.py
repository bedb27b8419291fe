"""WAL objects, version 1: a header, the batches of many streams as received, an index of the chunks, a CRC.

Batches are opaque here. A batch in an object is not visible before the offset index names it. Unlike Ursa,
the format holds Kafka batches and not rows (docs/formats/wal-v1.md).
"""

from dray.formats.wal_v1.layout import ChunkEntry, CorruptWal, UnknownWalVersion, WalHeader
from dray.formats.wal_v1.reader import (
    DecodedChunk,
    DecodedWal,
    decode,
    iter_batches,
    read_chunk_index,
    read_header,
    verify,
)
from dray.formats.wal_v1.writer import ChunkDraft, EncodedWal, PlacedChunk, encode

__all__ = [
    "ChunkDraft",
    "ChunkEntry",
    "CorruptWal",
    "DecodedChunk",
    "DecodedWal",
    "EncodedWal",
    "PlacedChunk",
    "UnknownWalVersion",
    "WalHeader",
    "decode",
    "encode",
    "iter_batches",
    "read_chunk_index",
    "read_header",
    "verify",
]
