"""Builders of small values of the offset index."""

from dray.ids import StreamId, WalId
from dray.index import BatchDraft, Chunk

STREAM = StreamId(7)


def wal(number: int) -> WalId:
    return WalId(number.to_bytes(16, "big"))


def chunk(number: int = 1, length: int = 100) -> Chunk:
    return Chunk(STREAM, wal(number), f"wal/{number}.wo", offset=49, length=length, wal_bytes=300)


def draft(count: int = 1, *, position: int = 4, length: int = 70, time_ms: int = 1_000) -> BatchDraft:
    return BatchDraft(position, length, count, time_ms, time_ms, -1, -1, -1)
