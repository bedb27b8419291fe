"""Batches this process committed a moment ago, for readers at the tail.

They are the very buffers that were received, so keeping them copies nothing. Oldest go first when there is no
room. Nothing depends on them: what is not here is read from object storage.
"""

from collections import OrderedDict
from collections.abc import Mapping

from dray.formats.wal_v1 import PlacedChunk
from dray.ids import StreamId, WalId
from dray.log.stages import SealedChunk

BatchesAt = Mapping[int, memoryview]
"""Batches by their position in the chunk."""


class RecentChunks:
    """A bounded memory of own chunks."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._chunks: OrderedDict[tuple[WalId, StreamId], tuple[int, BatchesAt]] = OrderedDict()

    def keep(self, wal_id: WalId, chunk: SealedChunk, placed: PlacedChunk) -> None:
        batches = dict(zip(placed.batch_offsets, (pending.batch for pending in chunk.pendings), strict=True))
        self._chunks[wal_id, chunk.stream] = (placed.chunk_length, batches)
        self._bytes += placed.chunk_length
        while self._bytes > self._max_bytes:
            _, (size, _) = self._chunks.popitem(last=False)
            self._bytes -= size

    def get(self, wal_id: WalId, stream: StreamId) -> BatchesAt | None:
        found = self._chunks.get((wal_id, stream))
        return None if found is None else found[1]

    @property
    def size_bytes(self) -> int:
        return self._bytes
