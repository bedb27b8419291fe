"""WAL objects, version 1: a header, the batches of many streams as they came, an index of the streams, a CRC.

Batches are opaque here. That a batch lies in an object does not make it visible: only the offset index does.
Deviation from Ursa, on purpose: Kafka batch bytes instead of rows (docs/formats/wal-v1.md).
"""

from dray.formats.wal_v1.errors import CorruptWal, UnknownWalVersion
from dray.formats.wal_v1.layout import ChunkEntry, WalHeader
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
