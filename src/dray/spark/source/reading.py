"""Execution of a read task: reads its ranges and returns their rows to Spark, a few megabytes at a time.

Reads are prefetched in order: first the footers of all files, which locate the columns, then WAL chunks and
row groups. Between planning and reading, compaction may have rewritten the planned objects, and garbage
collection deleted them. The executor then looks up the remaining offsets in the index again: the same
records are in other objects. Offsets that retention removed in the meantime are an error, or skipped if the
options say so. Rows that have been returned are never read again.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec
import pyarrow as pa
from typing_extensions import Buffer

from dray.formats.parquet_v1 import Footer
from dray.index import ParquetEntry
from dray.objects.port import NotFound
from dray.scan.access import ClusterAccess, StorageAccess
from dray.scan.blocking import BlockingStore
from dray.scan.pieces import OFFSET, footer_of, footer_read, object_missing, pieces_of, report_range_damage
from dray.scan.ranges import EntryRange, Read, ranges_of
from dray.scan.read_ahead import AheadLimits, ReadAhead
from dray.scan.topic import TopicIndex
from dray.spark.source.columns import shaped
from dray.spark.source.ranges import cutting
from dray.spark.source.tasks import ReadTask

Replan = Callable[[ReadTask], list[EntryRange]]
"""Looks up where the records of a task are now."""

_MISSES_MAX: Final = 3
"""Maximum number of consecutive lookups whose objects were deleted before any row was read."""


class TaskReader:
    """Reads one task."""

    def __init__(self, task: ReadTask, schema: pa.Schema, replan: Replan) -> None:
        self._task = task
        self._schema = schema
        self._columns = sorted({OFFSET, *schema.names})
        self._replan = replan
        self._left = list(task.entry_ranges)

    def rows(self, access: StorageAccess) -> Iterator[pa.RecordBatch]:
        """Yield all rows; raises `DataLost`, `LogDamaged` and errors of the stores."""
        misses = 0
        with BlockingStore(access) as store:
            while self._left:
                before = self._left[0].first_offset
                try:
                    yield from self._attempt(store)
                except _ObjectDeleted as deleted:
                    misses = misses + 1 if self._left[0].first_offset == before else 1
                    if misses > _MISSES_MAX:
                        raise object_missing(deleted.entry_range) from deleted
                    self._left = self._replan(
                        msgspec.structs.replace(self._task, entry_ranges=tuple(self._left))
                    )

    def _attempt(self, store: BlockingStore) -> Iterator[pa.RecordBatch]:
        footers = self._footers(store)
        entry_ranges = [
            (entry_range, list(pieces_of(entry_range, footers.get(entry_range.entry.path), self._columns)))
            for entry_range in self._left
        ]
        ahead = ReadAhead(store, [piece.read for _, some in entry_ranges for piece in some], AheadLimits())
        try:
            for entry_range, pieces in entry_ranges:
                for piece in pieces:
                    yield from self._shaped(entry_range, piece.rows(_read(ahead, piece.read, entry_range)))
                self._left.pop(0)
        finally:
            ahead.stop()

    def _shaped(self, entry_range: EntryRange, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield rows in the requested shape, and record how far reading got."""
        for rows in found:
            if rows.num_rows:
                next_offset = rows.column(OFFSET)[-1].as_py() + 1
                self._left[0] = msgspec.structs.replace(entry_range, first_offset=next_offset)
                yield shaped(rows, self._schema)

    def _footers(self, store: BlockingStore) -> dict[str, Footer]:
        files = {
            entry_range.entry.path: (entry_range, entry_range.entry)
            for entry_range in self._left
            if isinstance(entry_range.entry, ParquetEntry)
        }
        reads = [footer_read(entry) for _, entry in files.values()]
        ahead = ReadAhead(store, reads, AheadLimits())
        try:
            return {
                path: footer_of(entry_range, entry, _read(ahead, read, entry_range))
                for (path, (entry_range, entry)), read in zip(files.items(), reads, strict=True)
            }
        finally:
            ahead.stop()


class _ObjectDeleted(Exception):
    """The object of a range was deleted."""

    def __init__(self, entry_range: EntryRange) -> None:
        super().__init__(entry_range.entry.path)
        self.entry_range = entry_range


def _read(ahead: ReadAhead, read: Read, entry_range: EntryRange) -> Buffer:
    try:
        with report_range_damage(entry_range):
            (data,) = ahead.read(read.path, [read.at])
    except NotFound as error:
        raise _ObjectDeleted(entry_range) from error
    return data


def replanned(access: ClusterAccess, task: ReadTask) -> list[EntryRange]:
    """Open the cluster on the executor, and look up the rest of a task."""
    return asyncio.run(_replanned(access, task))


async def _replanned(access: ClusterAccess, task: ReadTask) -> list[EntryRange]:
    async with access() as cluster:
        index = TopicIndex(cluster, task.topic)
        cut = cutting(fail_on_data_loss=task.fail_on_data_loss)
        return await index.current_entry_ranges(ranges_of(task.entry_ranges), cut)


def read_task(
    task: ReadTask, schema: pa.Schema, storage: StorageAccess, cluster: ClusterAccess
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task."""
    yield from TaskReader(task, schema, lambda left: replanned(cluster, left)).rows(storage)
