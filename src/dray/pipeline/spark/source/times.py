"""Finding offsets by time on the driver, as Kafka's ListOffsets does: the first record that is not before it.

The index leads to the first entry that may hold such a record; inside it, only batches and row groups that
may are opened. None at all means the end of the log as it was looked at.
"""

from collections.abc import AsyncIterator
from typing import Final

import pyarrow as pa
from typing_extensions import Buffer

from dray.index import IndexEntry, ParquetEntry, first_reaching_time, parts_of
from dray.objects.port import NotFound, ObjectStore
from dray.pipeline.access import OpenCluster
from dray.pipeline.reading.pieces import OFFSET, footer_of, footer_read, pieces_of, telling
from dray.pipeline.reading.stretches import Partition, Stretch
from dray.pipeline.reading.topic import TopicIndex
from dray.pipeline.reads import Read

_COLUMNS: Final = (OFFSET, "timestamp")
_LOOKS_MAX: Final = 3


class TimeFinder:
    """Looks for records by their time in one topic."""

    def __init__(self, cluster: OpenCluster, index: TopicIndex) -> None:
        self._objects: ObjectStore = cluster.objects
        self._index = index

    async def at_or_after(self, partition: Partition, time_ms: int) -> int:
        """Return the offset of the first record whose timestamp is not before a time, or the end."""
        for _ in range(_LOOKS_MAX - 1):
            try:
                return await self._find(partition, time_ms)
            except NotFound:
                continue  # compacted meanwhile: the index tells where it is now
        return await self._find(partition, time_ms)

    async def _find(self, partition: Partition, time_ms: int) -> int:
        entry = await self._first_entry(partition, time_ms)
        while entry is not None:
            async for rows in self._candidates(partition, entry, time_ms):
                found = _first(rows, time_ms)
                if found is not None:
                    return found
            # What reached the time has been trimmed, or is a header's empty claim: go on one by one.
            entry = await self._entry(partition, entry.end_offset)
        return partition.end_offset

    async def _first_entry(self, partition: Partition, time_ms: int) -> IndexEntry | None:
        search = first_reaching_time(partition.first_offset, partition.end_offset, time_ms)
        try:
            probe = next(search)
            while True:
                probe = search.send(await self._entry(partition, probe.offset))
        except StopIteration as found:
            result: IndexEntry | None = found.value
            return result

    async def _entry(self, partition: Partition, offset: int) -> IndexEntry | None:
        if offset >= partition.end_offset:
            return None
        found = await self._index.entries(partition.stream, offset, limit=1)
        return found[0] if found else None

    async def _candidates(
        self, partition: Partition, entry: IndexEntry, time_ms: int
    ) -> AsyncIterator[pa.RecordBatch]:
        """Yield the rows of an entry that may hold the time, in the order of their offsets."""
        for part in parts_of(entry):
            first = max(part.start_offset, partition.first_offset)
            end = min(part.last_offset + 1, partition.end_offset)
            if part.max_timestamp_ms >= time_ms and first < end:
                for rows in await self._rows(Stretch(partition.number, entry, first, end)):
                    yield rows

    async def _rows(self, stretch: Stretch) -> list[pa.RecordBatch]:
        entry, footer = stretch.entry, None
        if isinstance(entry, ParquetEntry):
            footer = footer_of(stretch, entry, await self._read(stretch, footer_read(entry)))
        return [
            rows
            for piece in pieces_of(stretch, footer, _COLUMNS)
            for rows in piece.rows(await self._read(stretch, piece.read))
        ]

    async def _read(self, stretch: Stretch, read: Read) -> Buffer:
        with telling(stretch):
            (data,) = await self._objects.get_ranges(read.path, [read.at])
        return data


def _first(rows: pa.RecordBatch, time_ms: int) -> int | None:
    reached = rows.column("timestamp").cast(pa.int64()).to_numpy() >= time_ms * 1000
    if not reached.any():
        return None
    found: int = rows.column(OFFSET)[int(reached.argmax())].as_py()
    return found
