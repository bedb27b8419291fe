"""Offset lookup by time on the driver, as in Kafka's ListOffsets: the first record at or after a time.

The index leads to the first entry that may hold such a record; only its candidate batches and row groups are
read. Without such a record the result is the end of the log at planning.
"""

from collections.abc import AsyncIterator
from typing import Final

import pyarrow as pa
from typing_extensions import Buffer

from dray.index import IndexEntry, ParquetEntry, first_reaching_time, parts_of
from dray.objects.port import NotFound, ObjectStore
from dray.scan.access import OpenCluster
from dray.scan.pieces import OFFSET, footer_of, footer_read, pieces_of, report_range_damage
from dray.scan.ranges import EntryRange, Partition, Read
from dray.scan.topic import TopicIndex

_COLUMNS: Final = (OFFSET, "timestamp")
_LOOKS_MAX: Final = 3


class TimeFinder:
    """Looks up offsets by time in one topic."""

    def __init__(self, cluster: OpenCluster, index: TopicIndex) -> None:
        self._objects: ObjectStore = cluster.objects
        self._index = index

    async def at_or_after(self, partition: Partition, time_ms: int) -> int:
        """Return the offset of the first record at or after a time, or the end."""
        for _ in range(_LOOKS_MAX - 1):
            try:
                return await self._find(partition, time_ms)
            except NotFound:
                continue  # compacted in the meantime: look it up in the index again
        return await self._find(partition, time_ms)

    async def _find(self, partition: Partition, time_ms: int) -> int:
        entry = await self._first_entry(partition, time_ms)
        while entry is not None:
            async for rows in self._candidates(partition, entry, time_ms):
                found = _first(rows, time_ms)
                if found is not None:
                    return found
            # The record was trimmed, or a header overstates its timestamps: continue entry by entry.
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
        """Yield the candidate rows of an entry, ordered by offset."""
        for part in parts_of(entry):
            first = max(part.start_offset, partition.first_offset)
            end = min(part.last_offset + 1, partition.end_offset)
            if part.max_timestamp_ms >= time_ms and first < end:
                for rows in await self._rows(EntryRange(partition.number, entry, first, end)):
                    yield rows

    async def _rows(self, entry_range: EntryRange) -> list[pa.RecordBatch]:
        entry, footer = entry_range.entry, None
        if isinstance(entry, ParquetEntry):
            footer = footer_of(entry_range, entry, await self._read(entry_range, footer_read(entry)))
        return [
            rows
            for piece in pieces_of(entry_range, footer, _COLUMNS)
            for rows in piece.rows(await self._read(entry_range, piece.read))
        ]

    async def _read(self, entry_range: EntryRange, read: Read) -> Buffer:
        with report_range_damage(entry_range):
            (data,) = await self._objects.get_ranges(read.path, [read.at])
        return data


def _first(rows: pa.RecordBatch, time_ms: int) -> int | None:
    reached = rows.column("timestamp").cast(pa.int64()).to_numpy() >= time_ms * 1000
    if not reached.any():
        return None
    found: int = rows.column(OFFSET)[int(reached.argmax())].as_py()
    return found
