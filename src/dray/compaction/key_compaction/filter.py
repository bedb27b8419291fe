"""Execution of key compaction tasks: the key map of a range, and the file without obsolete rows.

The rules are those of Kafka's log cleaner. A row is retained if its offset is after the dirty range; or if it
has a key, the range has no later row with the same key, and it has a value or is a tombstone that has not
expired.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from typing_extensions import Buffer

from dray.compaction.key_compaction.tasks import Filtered, FilterTask, KeyMap, KeyMapTask
from dray.compaction.rewrite import Rewritten, file_ref
from dray.formats.parquet_v1 import SCHEMA, FileWriter, Output, read_footer, read_group
from dray.index import GroupRow, ParquetEntry
from dray.log.row_groups import group_range, tail_range
from dray.objects.port import ByteRange
from dray.records.columns import LastOffsets, rows_from, valid
from dray.scan.pieces import report_entry_damage
from dray.scan.ranges import Read, ReadRanges

Mask = NDArray[np.bool_]


def key_map_reads(task: KeyMapTask) -> Iterator[Read]:
    """Predict what `write_key_map` reads, in order."""
    for entry in task.entries:
        yield Read(entry.path, tail_range(entry))
        yield from (Read(entry.path, group_range(group)) for _, group in _groups_in(entry, task))


def write_key_map(task: KeyMapTask, read: ReadRanges, output: Output) -> KeyMap:
    """Write the last offset of each key in the task's range."""
    records = sum(group.record_count for entry in task.entries for _, group in _groups_in(entry, task))
    keys = LastOffsets(task.seed, records)
    for entry in task.entries:
        file = _File(entry, read)
        for number, _ in _groups_in(entry, task):
            rows = file.rows(number, ["offset", "key"])
            offsets = rows.column("offset").to_numpy()
            first, end = np.searchsorted(offsets, [task.start_offset, task.end_offset])
            keys.put(rows.column("key").slice(first, end - first), offsets[first:end])
    for chunk in keys.encoded():
        output.write(chunk)  # type: ignore[arg-type]
    return KeyMap(task.path, output.tell(), len(keys))


def filter_reads(task: FilterTask) -> Iterator[Read]:
    """Predict what `filter_file` reads, in order, if a row of the first row group is removed."""
    if task.keys is not None:
        yield Read(task.keys.path, ByteRange(0, task.keys.size_bytes))
    yield Read(task.entry.path, tail_range(task.entry))
    yield from (Read(task.entry.path, group_range(group)) for group in task.entry.groups)


def filter_file(task: FilterTask, read: ReadRanges, output: Output) -> Filtered:
    """Write the retained rows to `output`, or nothing if all rows are retained."""
    keys = None
    if task.keys is not None:
        (data,) = read(task.keys.path, [ByteRange(0, task.keys.size_bytes)])
        keys = LastOffsets.decoded(data)
    return _FileFilter(task, keys, read, output).run()


class _FileFilter:
    """Filters one file, row group by row group; the writer is created when the first row is removed."""

    def __init__(self, task: FilterTask, keys: LastOffsets | None, read: ReadRanges, output: Output) -> None:
        self._task = task
        self._keys = keys
        self._output = output
        self._file = _File(task.entry, read)
        self._writer: FileWriter | None = None
        self._tombstones = 0
        self._needs_values = _overlaps(task.entry, (*task.expired, (task.dirty_start, task.dirty_end)))

    def run(self) -> Filtered:
        for number in range(len(self._task.entry.groups)):
            self._filter(number)
        if self._writer is None:
            return Filtered(None, self._tombstones)
        written = self._writer.close()
        task = self._task
        start = max(task.entry.start_offset, task.first_offset)
        file = file_ref(task.file_id, task.path, start, task.entry.end_offset, written)
        return Filtered(Rewritten(file), self._tombstones)

    def _filter(self, number: int) -> None:
        names = ["offset", "key", "value"] if self._needs_values else ["offset", "key"]
        retained = self._retained(self._file.rows(number, names))
        if self._writer is None:
            if retained.all():
                return
            self._writer = FileWriter(self._output)
            for earlier in range(number):
                self._write(self._file.rows(earlier, SCHEMA.names))
        rows = self._file.rows(number, SCHEMA.names)
        self._write(rows if retained.all() else rows.filter(pa.array(retained)))

    def _write(self, rows: pa.RecordBatch) -> None:
        assert self._writer is not None
        self._writer.write(rows_from(rows, self._task.first_offset))

    def _retained(self, rows: pa.RecordBatch) -> Mask:
        """Return which rows are retained; rows before the log start do not count, as `_write` drops them."""
        task = self._task
        offsets = rows.column("offset").to_numpy()
        unaffected: Mask = (offsets >= task.dirty_end) | (offsets < task.first_offset)
        retained = unaffected.copy()
        if self._keys is None:
            retained[:] = True
        else:
            keys = rows.column("key")
            retained |= valid(keys) & (offsets >= self._keys.find(keys))
        if self._needs_values:
            tombstones = ~valid(rows.column("value")) & ~unaffected
            for first, end in task.expired:
                retained &= ~(tombstones & (offsets >= first) & (offsets < end))
            self._tombstones += int((retained & tombstones & (offsets >= task.dirty_start)).sum())
        return retained


def _overlaps(entry: ParquetEntry, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first < entry.end_offset and end > entry.start_offset for first, end in ranges)


def _groups_in(entry: ParquetEntry, task: KeyMapTask) -> Iterator[tuple[int, GroupRow]]:
    for number, group in enumerate(entry.groups):
        first, last = entry.start_offset + group.start_delta, entry.start_offset + group.last_delta
        if first < task.end_offset and last >= task.start_offset:
            yield number, group


class _File:
    """Row groups of a file; keeps the bytes of the last one, as most are read twice."""

    def __init__(self, entry: ParquetEntry, read: ReadRanges) -> None:
        self._entry = entry
        self._read = read
        with report_entry_damage(entry):
            (tail,) = read(entry.path, [tail_range(entry)])
            self._footer = read_footer(tail, entry.footer_crc)
        self._last: tuple[int, Buffer] = (-1, b"")

    def rows(self, number: int, names: list[str]) -> pa.RecordBatch:
        group = self._entry.groups[number]
        with report_entry_damage(self._entry):
            if self._last[0] != number:
                (data,) = self._read(self._entry.path, [group_range(group)])
                self._last = (number, data)
            return read_group(self._footer, number, group.position, self._last[1], names)
