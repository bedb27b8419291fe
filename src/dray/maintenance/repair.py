"""Repair: restoration of deleted Parquet files from the table, if it still has their rows.

Another engine may rewrite a table's files and then delete the old ones, which were ours. The rows are then in
its files. A repair reads them from there and writes a new file of ours, which replaces the missing one in the
index by the last step of an ordinary job. The table is left unchanged: it references their file, the index
references ours, and both hold the same records.

Alternatives: referencing their file in the index costs less now and more later, because it may be sorted
differently, have row groups larger than a broker's memory, and disappear in the next rewrite. Replacing their
file by ours in the table would undo a scheduled rewrite every time it runs.

A file is restored completely or not at all: as many records as the index counts, no duplicate offset, the
same first and last timestamp. Otherwise the lost offsets are reported and nothing is changed.
"""

import io
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from typing_extensions import Buffer

from dray.cluster.topics import Topic
from dray.compaction.deps import CompactionDeps, new_file, new_job
from dray.compaction.index_files import IndexedFile
from dray.compaction.rewrite import file_ref
from dray.compaction.topic_tables import table_of
from dray.formats.parquet_v1 import FileWriter, ForeignParquet, WrittenFile
from dray.index import CompactionJob, FileRef, JobState, ParquetEntry
from dray.maintenance.foreign_rows import rows_within
from dray.objects.port import NotFound
from dray.tables.port import LiveFile, TableState

_RANGES_MAX = 5
_Offsets = NDArray[np.int64]
RunBlocking = Callable[..., Awaitable[Any]]
"""Runs a blocking call in a thread and returns its result."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The records of a missing file that were found in the table's files."""

    written: WrittenFile | None
    """None if records are missing; `lost` names them."""
    content: bytes
    lost: str = ""


class Repairer:
    """Repairs missing files one by one; the caller holds the topic's lease."""

    def __init__(self, deps: CompactionDeps, run_blocking: RunBlocking) -> None:
        self._deps = deps
        self._index = deps.index
        self._run = run_blocking

    async def repair(self, topic: Topic, missing: Sequence[IndexedFile]) -> dict[str, str]:
        """Restore files; returns the reason and the lost offsets for each path that cannot be restored."""
        state = await self._deps.tables.current(table_of(topic.ref))
        lost: dict[str, str] = {}
        for file in missing:
            reason = await self._repair(topic, file, state)
            if reason:
                lost[file.entry.path] = (
                    f"{file.entry.path} is not in the store, and {reason}; restore {file.entry.path} from a "
                    f"backup, or delete records up to offset {file.entry.end_offset - 1}"
                )
        return lost

    async def _repair(self, topic: Topic, file: IndexedFile, state: TableState) -> str:
        before = await self._deps.jobs.load(file.stream)
        if before is not None and before.job.is_unfinished:
            return "its stream's job must be finished first"
        try:
            found = await self._gather(file, state)
        except ForeignParquet as error:
            return f"offsets {_range(file.entry)} are lost: {error}"
        if found.written is None:
            return found.lost
        file_id, path = new_file(self._deps, topic.name, file.partition, file.stream)
        await self._deps.objects.put_new(path, [found.content])
        if not await self._index.references(file):
            return ""  # released in the meantime; the sweep deletes the new file as a stray
        restored = file_ref(file_id, path, file.entry.start_offset, file.entry.end_offset, found.written)
        begun = await self._deps.jobs.begin(file.stream, self._job(topic, file, restored), before)
        await self._deps.publisher.publish(begun.job.topic, [begun])
        return ""

    def _job(self, topic: Topic, file: IndexedFile, restored: FileRef) -> CompactionJob:
        """Return a job of which only the last step is left: the table has the rows already."""
        drafted = new_job(self._deps, topic.ref, file.partition, restored.start_offset, restored.end_offset)
        return msgspec.structs.replace(drafted, state=JobState.PUBLISHED, files=(restored,))

    async def _gather(self, file: IndexedFile, state: TableState) -> _Found:
        """Read the records of a missing file from the current files of the table."""
        parts = []
        for live in candidates(file, state):
            if "//" in live.path:
                raise ForeignParquet(f"{live.path} is outside this cluster's store")
            try:
                whole = await self._deps.objects.get(live.path)
            except NotFound:
                continue
            parts.append(await self._rows(file, live.path, whole))
        found: _Found = await self._run(_written, file.entry, parts)
        return found

    async def _rows(self, file: IndexedFile, path: str, whole: Buffer) -> pa.Table:
        start, end = file.entry.start_offset, file.entry.end_offset
        try:
            return await self._run(rows_within, whole, file.partition, start, end)
        except ForeignParquet as error:
            raise ForeignParquet(f"{path}: {error}") from error


def candidates(file: IndexedFile, state: TableState) -> Iterator[LiveFile]:
    """Return the table's files, other than the missing one, that may hold records of it."""
    entry = file.entry
    for live in state.files:
        may_hold = live.may_hold(file.partition, entry.start_offset, entry.end_offset)
        if may_hold and live.path != entry.path:
            yield live


def _written(entry: ParquetEntry, parts: Sequence[pa.Table]) -> _Found:
    """Write the rows in offset order if they are complete. Blocks."""
    rows = pa.concat_tables(parts).sort_by("offset") if parts else None
    offsets = np.empty(0, np.int64) if rows is None else rows.column("offset").to_numpy()
    if rows is None or len(offsets) != entry.record_count or _has_duplicates(offsets):
        return _Found(None, b"", _loss(entry, offsets))
    output = io.BytesIO()
    writer = FileWriter(output)
    for batch in rows.combine_chunks().to_batches():
        writer.write(batch)
    written = writer.close()
    timestamps_ms = (written.min_timestamp_ms, written.max_timestamp_ms)
    if timestamps_ms != (entry.min_timestamp_ms, entry.max_timestamp_ms):
        lost = f"timestamps of offsets {_range(entry)} differ from the table's: rows were modified"
        return _Found(None, b"", lost)
    return _Found(written, output.getvalue())


def _loss(entry: ParquetEntry, offsets: _Offsets) -> str:
    """Describe what the table lacks; a gap between offsets may have existed before the loss."""
    if _has_duplicates(offsets):
        return f"the table has some of its offsets, {_range(entry)}, more than once"
    known = np.concatenate(([entry.start_offset - 1], offsets, [entry.end_offset]))
    gaps = np.flatnonzero(np.diff(known) > 1)
    missing = ", ".join(f"{known[at] + 1} to {known[at + 1] - 1}" for at in gaps[:_RANGES_MAX])
    more = f" and {len(gaps) - _RANGES_MAX} more ranges" if len(gaps) > _RANGES_MAX else ""
    return (
        f"the table has {len(offsets)} of its {entry.record_count} records; offsets {missing}{more} are lost"
        if len(gaps)
        else f"the table has {len(offsets)} records where it had {entry.record_count}"
    )


def _has_duplicates(offsets: _Offsets) -> bool:
    """Return whether an offset occurs twice; `offsets` are sorted."""
    return bool((np.diff(offsets) == 0).any())


def _range(entry: ParquetEntry) -> str:
    return f"{entry.start_offset} to {entry.end_offset - 1}"
