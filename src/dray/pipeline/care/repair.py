"""Bringing back Parquet files that somebody has deleted, out of the table that still has their rows.

Another engine may rewrite a table's files and then delete the old ones, which were ours. The rows are in its
files now. They are read from there and written again as a file of our own, which takes the missing one's
place in the index by the last step of an ordinary job. The table stays as its owner has left it: it names
their file, the index names ours, and both hold the same records.

To name their file in the index would be less work once and more for ever: it may be sorted in another way,
have row groups as large as a broker's memory, and be gone after the next rewrite. To put ours into the table
in place of theirs would undo, every night, what somebody does every night.

A file is brought back whole or not at all: as many records as the index counts, no offset twice, the first
and last timestamp as they were. Otherwise it is told which offsets are lost, and nothing is changed.
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
from dray.formats.parquet_v1 import FileWriter, ForeignParquet, WrittenFile
from dray.index import CompactionJob, FilePlace, JobState, ParquetEntry
from dray.objects.port import NotFound
from dray.pipeline.care.foreign_rows import rows_within
from dray.pipeline.drafts import new_file, new_job
from dray.pipeline.index_files import IndexedFile
from dray.pipeline.parts import CompactionParts
from dray.pipeline.places import place_of
from dray.pipeline.topic_tables import table_of
from dray.tables.port import LiveFile, TableState

_RANGES_TOLD = 5
_Offsets = NDArray[np.int64]
RunBlocking = Callable[..., Awaitable[Any]]
"""Makes a call with its arguments where it holds up nobody, and returns what it returns."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What the table's files hold of a missing file."""

    written: WrittenFile | None
    """None if something is missing; `lost` says what."""
    content: bytes
    lost: str = ""


class Repairer:
    """Repairs one file after the other; whoever calls it holds the topic's lease."""

    def __init__(self, parts: CompactionParts, run_blocking: RunBlocking) -> None:
        self._parts = parts
        self._index = parts.index
        self._run = run_blocking

    async def repair(self, topic: Topic, missing: Sequence[IndexedFile]) -> dict[str, str]:
        """Bring back what can be; returns, for each path that cannot, what is lost and why."""
        state = await self._parts.tables.current(table_of(topic.ref))
        lost: dict[str, str] = {}
        for file in missing:
            why = await self._repair(topic, file, state)
            if why:
                lost[file.entry.path] = (
                    f"{file.entry.path} is not in the store, and {why}; restore it from a copy, or delete "
                    f"the records before offset {file.entry.end_offset} to do without them"
                )
        return lost

    async def _repair(self, topic: Topic, file: IndexedFile, state: TableState) -> str:
        before = await self._parts.jobs.load(file.stream)
        if before is not None and before.job.is_unfinished:
            return "its stream's job must be finished first"
        try:
            found = await self._gather(file, state)
        except ForeignParquet as error:
            return f"offsets {_range(file.entry)} are lost: {error}"
        if found.written is None:
            return found.lost
        file_id, path = new_file(self._parts, topic.name, file.partition, file.stream)
        await self._parts.objects.put_new(path, [found.content])
        if not await self._index.still_names(file):
            return ""  # it was given up meanwhile; the sweep finds what was written
        place = place_of(file_id, path, file.entry.start_offset, file.entry.end_offset, found.written)
        begun = await self._parts.jobs.begin(file.stream, self._job(topic, file, place), before)
        await self._parts.publisher.publish(begun.job.topic, [begun])
        return ""

    def _job(self, topic: Topic, file: IndexedFile, place: FilePlace) -> CompactionJob:
        """Return a job that has only its last step to do: the table has the rows already."""
        drafted = new_job(self._parts, topic.ref, file.partition, place.start_offset, place.end_offset)
        return msgspec.structs.replace(drafted, state=JobState.TABLED, files=(place,))

    async def _gather(self, file: IndexedFile, state: TableState) -> _Found:
        """Read the records of a missing file from the files that the table has now."""
        parts = []
        for live in candidates(file, state):
            if "//" in live.path:
                raise ForeignParquet(f"{live.path} is outside this cluster's store")
            try:
                whole = await self._parts.objects.get(live.path)
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
    """Return the table's files that may hold records of a missing one, the missing one itself left out."""
    entry = file.entry
    for live in state.files:
        may_hold = live.may_hold(file.partition, entry.start_offset, entry.end_offset)
        if may_hold and live.path != entry.path:
            yield live


def _written(entry: ParquetEntry, parts: Sequence[pa.Table]) -> _Found:
    """Write the rows in order if they are all there. Blocks."""
    rows = pa.concat_tables(parts).sort_by("offset") if parts else None
    offsets = np.empty(0, np.int64) if rows is None else rows.column("offset").to_numpy()
    if rows is None or len(offsets) != entry.record_count or _repeat(offsets):
        return _Found(None, b"", _loss(entry, offsets))
    output = io.BytesIO()
    writer = FileWriter(output)
    for batch in rows.combine_chunks().to_batches():
        writer.write(batch)
    written = writer.close()
    told = (written.min_timestamp_ms, written.max_timestamp_ms)
    if told != (entry.min_timestamp_ms, entry.max_timestamp_ms):
        return _Found(
            None,
            b"",
            f"the table has other timestamps than offsets {_range(entry)} had: somebody changed rows",
        )
    return _Found(written, output.getvalue())


def _loss(entry: ParquetEntry, offsets: _Offsets) -> str:
    """Say what the table lacks; between the records there may have been offsets without any."""
    if _repeat(offsets):
        return f"the table has some of its offsets, {_range(entry)}, more than once"
    around = np.concatenate(([entry.start_offset - 1], offsets, [entry.end_offset]))
    gaps = np.flatnonzero(np.diff(around) > 1)
    told = ", ".join(f"{around[at] + 1} to {around[at + 1] - 1}" for at in gaps[:_RANGES_TOLD])
    more = f" and {len(gaps) - _RANGES_TOLD} more ranges" if len(gaps) > _RANGES_TOLD else ""
    return (
        f"the table has {len(offsets)} of its {entry.record_count} records; offsets {told}{more} are lost"
        if len(gaps)
        else f"the table has {len(offsets)} records where it had {entry.record_count}"
    )


def _repeat(offsets: _Offsets) -> bool:
    """Whether one stands twice; they are in order."""
    return bool((np.diff(offsets) == 0).any())


def _range(entry: ParquetEntry) -> str:
    return f"{entry.start_offset} to {entry.end_offset - 1}"
