"""What one task of cleaning does: which rows stay, and the file of them.

A row stays as in Kafka's cleaner: if it lies behind the dirty stretch; or if it has a key, no later row of
the stretch has the same key, and it has a value or its time as a tombstone is not over.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from typing_extensions import Buffer

from dray.formats.parquet_v1 import SCHEMA, FileWriter, Output, read_footer, read_group
from dray.index import GroupRow, ParquetEntry
from dray.log.row_groups import group_range, tail_range
from dray.objects.port import ByteRange
from dray.pipeline.clean.tasks import CleanTask, Filtered, Mapped, MapTask
from dray.pipeline.damage import telling_of
from dray.pipeline.places import place_of
from dray.pipeline.reads import Read, ReadRanges
from dray.pipeline.rewrite import Rewritten
from dray.records.columns import LastOffsets, since, valid

Mask = NDArray[np.bool_]


def map_reads(task: MapTask) -> Iterator[Read]:
    """Foretell what `map_keys` reads, in its order."""
    for entry in task.entries:
        yield Read(entry.path, tail_range(entry))
        yield from (Read(entry.path, group_range(group)) for _, group in _groups_in(entry, task))


def map_keys(task: MapTask, read: ReadRanges, output: Output) -> Mapped:
    """Write the last offset of each key in the stretch."""
    records = sum(group.record_count for entry in task.entries for _, group in _groups_in(entry, task))
    keys = LastOffsets(task.seed, records)
    for entry in task.entries:
        file = _File(entry, read)
        for number, _ in _groups_in(entry, task):
            rows = file.rows(number, ["offset", "key"])
            offsets = rows.column("offset").to_numpy()
            first, end = np.searchsorted(offsets, [task.start_offset, task.end_offset])
            keys.put(rows.column("key").slice(first, end - first), offsets[first:end])
    for part in keys.encoded():
        output.write(part)  # type: ignore[arg-type]
    return Mapped(task.path, output.tell(), len(keys))


def clean_reads(task: CleanTask) -> Iterator[Read]:
    """Foretell what `clean` reads, in its order, if the file is written anew from its first group on."""
    if task.keys is not None:
        yield Read(task.keys.path, ByteRange(0, task.keys.size_bytes))
    yield Read(task.entry.path, tail_range(task.entry))
    yield from (Read(task.entry.path, group_range(group)) for group in task.entry.groups)


def clean(task: CleanTask, read: ReadRanges, output: Output) -> Filtered:
    """Write what stays to `output`, unless it is everything: then nothing is written."""
    keys = None
    if task.keys is not None:
        (data,) = read(task.keys.path, [ByteRange(0, task.keys.size_bytes)])
        keys = LastOffsets.decoded(data)
    return _Cleaning(task, keys, read, output).run()


class _Cleaning:
    """Goes through the groups of one file; the writer is made when the first row has to go."""

    def __init__(self, task: CleanTask, keys: LastOffsets | None, read: ReadRanges, output: Output) -> None:
        self._task = task
        self._keys = keys
        self._output = output
        self._file = _File(task.entry, read)
        self._writer: FileWriter | None = None
        self._tombstones = 0
        self._needs_values = _meets(task.entry, (*task.expired, (task.dirty_start, task.dirty_end)))

    def run(self) -> Filtered:
        for number in range(len(self._task.entry.groups)):
            self._take(number)
        if self._writer is None:
            return Filtered(None, self._tombstones)
        written = self._writer.close()
        task = self._task
        start = max(task.entry.start_offset, task.first_offset)
        place = place_of(task.file_id, task.path, start, task.entry.end_offset, written)
        return Filtered(Rewritten(place, 0), self._tombstones)

    def _take(self, number: int) -> None:
        names = ["offset", "key", "value"] if self._needs_values else ["offset", "key"]
        stays = self._stays(self._file.rows(number, names))
        if self._writer is None:
            if stays.all():
                return
            self._writer = FileWriter(self._output)
            for earlier in range(number):
                self._write(self._file.rows(earlier, SCHEMA.names))
        rows = self._file.rows(number, SCHEMA.names)
        self._write(rows if stays.all() else rows.filter(pa.array(stays)))

    def _write(self, rows: pa.RecordBatch) -> None:
        assert self._writer is not None
        self._writer.write(since(rows, self._task.first_offset))

    def _stays(self, rows: pa.RecordBatch) -> Mask:
        """Tell which rows stay; those before the start of the log are nobody's concern."""
        task = self._task
        offsets = rows.column("offset").to_numpy()
        beyond: Mask = (offsets >= task.dirty_end) | (offsets < task.first_offset)
        stays = beyond.copy()
        if self._keys is None:
            stays[:] = True
        else:
            keys = rows.column("key")
            stays |= valid(keys) & (offsets >= self._keys.find(keys))
        if self._needs_values:
            tombstones = ~valid(rows.column("value")) & ~beyond
            for first, end in task.expired:
                stays &= ~(tombstones & (offsets >= first) & (offsets < end))
            self._tombstones += int((stays & tombstones & (offsets >= task.dirty_start)).sum())
        return stays


def _meets(entry: ParquetEntry, stretches: tuple[tuple[int, int], ...]) -> bool:
    return any(first < entry.end_offset and end > entry.start_offset for first, end in stretches)


def _groups_in(entry: ParquetEntry, task: MapTask) -> Iterator[tuple[int, GroupRow]]:
    for number, group in enumerate(entry.groups):
        first, last = entry.start_offset + group.start_delta, entry.start_offset + group.last_delta
        if first < task.end_offset and last >= task.start_offset:
            yield number, group


class _File:
    """The row groups of a file; the bytes of the last one are kept, because it is mostly asked for twice."""

    def __init__(self, entry: ParquetEntry, read: ReadRanges) -> None:
        self._entry = entry
        self._read = read
        with telling_of(entry):
            (tail,) = read(entry.path, [tail_range(entry)])
            self._footer = read_footer(tail, entry.footer_crc)
        self._last: tuple[int, Buffer] = (-1, b"")

    def rows(self, number: int, names: list[str]) -> pa.RecordBatch:
        group = self._entry.groups[number]
        with telling_of(self._entry):
            if self._last[0] != number:
                (data,) = self._read(self._entry.path, [group_range(group)])
                self._last = (number, data)
            return read_group(self._footer, number, group.position, self._last[1], names)
