"""The open WAL object of a domain, and when it is sealed. Plain code over values; the writer acts on it."""

from collections.abc import Sequence

from dray.ids import StreamId
from dray.log.settings import LogSettings
from dray.log.stages import Pending, Sealed, SealedChunk


class OpenBuffer:
    """Batches that were accepted and are not yet on their way."""

    def __init__(self, settings: LogSettings) -> None:
        self._settings = settings
        self._chunks: dict[StreamId, list[Pending]] = {}
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def add(self, stream: StreamId, pending: Pending) -> None:
        chunk = self._chunks.get(stream)
        if chunk is None:
            chunk = self._chunks[stream] = []
        chunk.append(pending)
        self._bytes += len(pending.batch)

    @property
    def full(self) -> bool:
        return (
            self._bytes >= self._settings.flush_bytes
            or len(self._chunks) >= self._settings.streams_per_object_max
        )

    def seal(self) -> Sealed:
        """Close what is here into one object, and begin anew."""
        chunks: Sequence[tuple[StreamId, list[Pending]]] = sorted(self._chunks.items())
        sealed = Sealed(tuple(SealedChunk(stream, batches) for stream, batches in chunks), self._bytes)
        self._chunks = {}
        self._bytes = 0
        return sealed
