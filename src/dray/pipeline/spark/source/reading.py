"""What one of Spark's tasks does: read its stretches and hand their rows to Spark, some megabytes at a time.

Everything is read ahead, in the order it is needed: first the footers of all files, which say where the
columns lie, then chunks and row groups. Between planning and reading, compaction may have rewritten what was
planned, and the sweep deleted it. Then what is left is looked up again in the index, here, in the executor:
the same records are in other objects. What retention has removed meanwhile is an error, or left out if that
was asked for. Rows that have been handed over are never read again.
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
from dray.pipeline.access import ClusterAccess
from dray.pipeline.blocking import BlockingStore, StorageAccess
from dray.pipeline.read_ahead import AheadLimits, ReadAhead
from dray.pipeline.reading.pieces import OFFSET, footer_of, footer_read, missing, pieces_of, telling
from dray.pipeline.reading.stretches import Stretch, ranges_of
from dray.pipeline.reading.topic import TopicIndex
from dray.pipeline.reads import Read
from dray.pipeline.spark.source.columns import shaped
from dray.pipeline.spark.source.ranges import cutting
from dray.pipeline.spark.source.task import ReadTask

Replan = Callable[[ReadTask], list[Stretch]]
"""Finds out where the records of a task are now."""

_MISSES_MAX: Final = 3
"""How often in a row what was looked up may be gone before anything of it could be read."""


class TaskReader:
    """Reads one task."""

    def __init__(self, task: ReadTask, schema: pa.Schema, replan: Replan) -> None:
        self._task = task
        self._schema = schema
        self._columns = sorted({OFFSET, *schema.names})
        self._replan = replan
        self._left = list(task.stretches)

    def rows(self, access: StorageAccess) -> Iterator[pa.RecordBatch]:
        """Yield all rows; raises `DataLost`, `LogDamaged`, and what the stores raise."""
        misses = 0
        with BlockingStore(access) as store:
            while self._left:
                before = self._left[0].first_offset
                try:
                    yield from self._attempt(store)
                except _Gone as gone:
                    misses = misses + 1 if self._left[0].first_offset == before else 1
                    if misses > _MISSES_MAX:
                        raise missing(gone.stretch) from gone
                    self._left = self._replan(
                        msgspec.structs.replace(self._task, stretches=tuple(self._left))
                    )

    def _attempt(self, store: BlockingStore) -> Iterator[pa.RecordBatch]:
        footers = self._footers(store)
        stretches = [
            (stretch, list(pieces_of(stretch, footers.get(stretch.entry.path), self._columns)))
            for stretch in self._left
        ]
        ahead = ReadAhead(store, [piece.read for _, some in stretches for piece in some], AheadLimits())
        try:
            for stretch, pieces in stretches:
                for piece in pieces:
                    yield from self._handed(stretch, piece.rows(_read(ahead, piece.read, stretch)))
                self._left.pop(0)
        finally:
            ahead.stop()

    def _handed(self, stretch: Stretch, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Hand rows over, and take note of how far it went."""
        for rows in found:
            if rows.num_rows:
                behind = rows.column(OFFSET)[-1].as_py() + 1
                self._left[0] = msgspec.structs.replace(stretch, first_offset=behind)
                yield shaped(rows, self._schema)

    def _footers(self, store: BlockingStore) -> dict[str, Footer]:
        files = {
            stretch.entry.path: (stretch, stretch.entry)
            for stretch in self._left
            if isinstance(stretch.entry, ParquetEntry)
        }
        reads = [footer_read(entry) for _, entry in files.values()]
        ahead = ReadAhead(store, reads, AheadLimits())
        try:
            return {
                path: footer_of(stretch, entry, _read(ahead, read, stretch))
                for (path, (stretch, entry)), read in zip(files.items(), reads, strict=True)
            }
        finally:
            ahead.stop()


class _Gone(Exception):
    """What a stretch lies in is not there."""

    def __init__(self, stretch: Stretch) -> None:
        super().__init__(stretch.entry.path)
        self.stretch = stretch


def _read(ahead: ReadAhead, read: Read, stretch: Stretch) -> Buffer:
    try:
        with telling(stretch):
            (data,) = ahead.read(read.path, [read.at])
    except NotFound as error:
        raise _Gone(stretch) from error
    return data


def replanned(access: ClusterAccess, task: ReadTask) -> list[Stretch]:
    """Open the cluster here, and look up what is left of a task."""
    return asyncio.run(_replanned(access, task))


async def _replanned(access: ClusterAccess, task: ReadTask) -> list[Stretch]:
    async with access() as cluster:
        index = TopicIndex(cluster, task.topic)
        cut = cutting(fail_on_data_loss=task.fail_on_data_loss)
        return await index.stretches_now(ranges_of(task.stretches), cut)


def read_task(
    task: ReadTask, schema: pa.Schema, storage: StorageAccess, cluster: ClusterAccess
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task."""
    yield from TaskReader(task, schema, lambda left: replanned(cluster, left)).rows(storage)
