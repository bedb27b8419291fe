"""The open WAL object of a domain, and when it is full. Pure: the writer acts on it."""

from collections.abc import Sequence

from dray.ids import StreamId
from dray.log.settings import LogSettings
from dray.log.stages import Pending, Sealed, SealedChunk

_LARGE_BYTES = 1 << 19
"""From this size on, an object's bytes cost more than the object."""
_LARGE_CHUNK_BYTES = 1 << 15
"""In chunks of this size, they also cost more than the chunks do in a commit."""
_RECORDS_MAX = 2**32 - 1
"""Record counts are claimed by the batches; a few false ones must not make an object unusable."""


class OpenBuffer:
    """Accepted batches that are not sealed yet."""

    def __init__(self, settings: LogSettings) -> None:
        self._settings = settings
        self._chunks: dict[StreamId, list[Pending]] = {}
        self._bytes = 0
        self._records = 0
        self._batches = 0
        self._sealed_batches = 0

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def fits(self, pending: Pending) -> bool:
        """Return whether the object's record counts stay below what its format and the index can hold."""
        return self._records + pending.header.record_count <= _RECORDS_MAX

    def add(self, stream: StreamId, pending: Pending) -> None:
        chunk = self._chunks.get(stream)
        if chunk is None:
            chunk = self._chunks[stream] = []
        chunk.append(pending)
        self._bytes += len(pending.batch)
        self._records += pending.header.record_count
        self._batches += 1

    @property
    def small_chunks(self) -> int:
        """How many chunks it holds if they are small on average, otherwise 0."""
        return len(self._chunks) if self._bytes < _LARGE_CHUNK_BYTES * len(self._chunks) else 0

    @property
    def taken(self) -> int:
        """How many batches were added so far, sealed ones included."""
        return self._sealed_batches + self._batches

    @property
    def large(self) -> bool:
        chunks_bytes = _LARGE_CHUNK_BYTES * len(self._chunks)
        return self._bytes >= min(max(_LARGE_BYTES, chunks_bytes), self._settings.flush_bytes)

    @property
    def full(self) -> bool:
        return (
            self._bytes >= self._settings.flush_bytes
            or len(self._chunks) >= self._settings.streams_per_object_max
            or self._batches >= self._settings.batches_per_object_max
        )

    def seal(self) -> Sealed:
        """Return the content as one object, and start an empty one."""
        chunks: Sequence[tuple[StreamId, list[Pending]]] = sorted(self._chunks.items())
        sealed = Sealed(
            tuple(SealedChunk(stream, batches) for stream, batches in chunks), self._bytes, self._batches
        )
        self._chunks = {}
        self._sealed_batches += self._batches
        self._bytes = self._records = self._batches = 0
        return sealed
