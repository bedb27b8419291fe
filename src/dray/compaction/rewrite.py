"""Rewrite task: conversion of one range of a stream to one Parquet file. Most of compaction consists of it.

Synchronous, over two callables, so that it runs in a Spark worker as well as in a test. Besides the file, it
holds at most one index entry, a few megabytes of entries before it and one row group in memory.

Either every record of the range is written, or no file is. A WAL entry may be damaged, missing or unreadable,
or hold a batch that cannot be converted to rows. In that case the result lists all such entries, so that the
next plan avoids all of them at once. A Parquet file that cannot be read raises `LogDamaged`.
"""

from collections.abc import Iterator, Sequence

import msgspec
import pyarrow as pa

from dray.compaction.skipped import UnconvertibleEntry
from dray.formats.parquet_v1 import (
    GROUP_BYTES,
    SCHEMA,
    FileWriter,
    Output,
    WrittenFile,
    read_footer,
    read_group,
)
from dray.ids import FileId, StreamId
from dray.index import FileRef, GroupRow, IndexEntry, ParquetEntry, WalEntry, covers, pack_groups
from dray.log.row_groups import group_range, tail_range
from dray.objects.port import ByteRange, NotFound, OutOfRange
from dray.records.columns import (
    CHUNK_BYTES,
    DamagedBatch,
    StoredBatch,
    decode_convertible,
    rows_from,
)
from dray.scan.pieces import report_entry_damage, stored_batch
from dray.scan.ranges import Read, ReadRanges
from dray.scan.unreadable import ObjectUnreadable


class RewriteTask(msgspec.Struct, frozen=True, tag="rewrite"):
    """One file to write: its stream, the entries it replaces, and its path."""

    stream: StreamId
    partition: int
    entries: tuple[IndexEntry, ...]
    first_offset: int
    file_id: FileId
    path: str


class RewriteOutput(msgspec.Struct, frozen=True):
    """Result of a `RewriteTask`: `Rewritten` or `Unconvertible`."""


class Rewritten(RewriteOutput, frozen=True, tag="rewritten"):
    """The file was written."""

    file: FileRef


class Unconvertible(RewriteOutput, frozen=True, tag="unconvertible"):
    """No file was written because of these WAL entries; all others of the range can be converted."""

    entries: tuple[UnconvertibleEntry, ...]


def rewrite_reads(task: RewriteTask) -> Iterator[Read]:
    """Predict what `rewrite` reads, in order."""
    for entry in task.entries:
        if isinstance(entry, ParquetEntry):
            yield Read(entry.path, tail_range(entry))
            yield from (Read(entry.path, group_range(group)) for group in entry.groups)
        else:
            yield Read(entry.wal_path, ByteRange(entry.chunk_offset, entry.chunk_length))


def rewrite(
    task: RewriteTask, read: ReadRanges, output: Output, *, group_bytes: int = GROUP_BYTES
) -> Rewritten | Unconvertible:
    """Write the records of the range to `output`, whose content is only valid if `Rewritten` is returned."""
    writer = FileWriter(output, group_bytes=group_bytes)
    conversion = _Conversion(task, read)
    for rows in conversion.rows():
        if not conversion.failed:  # otherwise the rest is only checked
            writer.write(rows_from(rows, task.first_offset))
    if conversion.failed:
        return Unconvertible(tuple(conversion.failed))
    written = writer.close()
    start = max(task.entries[0].start_offset, task.first_offset)
    return Rewritten(file_ref(task.file_id, task.path, start, task.entries[-1].end_offset, written))


def file_ref(file_id: FileId, path: str, start_offset: int, end_offset: int, written: WrittenFile) -> FileRef:
    """Describe a written file to the index; it covers all offsets of the range, with or without a record."""
    return FileRef(
        file_id=file_id,
        path=path,
        size_bytes=written.size_bytes,
        footer_bytes=len(written.tail),
        footer_crc=written.crc,
        start_offset=start_offset,
        end_offset=end_offset,
        record_count=written.row_count,
        min_timestamp_ms=written.min_timestamp_ms,
        max_timestamp_ms=written.max_timestamp_ms,
        packed_groups=pack_groups(_groups(start_offset, written)),
    )


def _groups(start: int, written: WrittenFile) -> list[GroupRow]:
    return [
        GroupRow(
            group.first_offset - start if number else 0,
            group.last_offset - start,
            group.position,
            group.length,
            group.row_count,
            group.min_timestamp_ms,
            group.max_timestamp_ms,
        )
        for number, group in enumerate(written.groups)
    ]


class _Conversion:
    """Converts the entries of a task to rows; `failed` collects those that cannot be converted."""

    def __init__(self, task: RewriteTask, read: ReadRanges) -> None:
        self._task = task
        self._read = read
        self.failed: list[UnconvertibleEntry] = []

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all entries.

        WAL entries are decoded several megabytes at a time: the cost per decode exceeds that of the records
        of a small entry.
        """
        gathered: list[tuple[WalEntry, list[StoredBatch]]] = []
        gathered_bytes = 0
        for entry in self._task.entries:
            if isinstance(entry, ParquetEntry):
                yield from self._decoded(gathered)
                gathered, gathered_bytes = [], 0
                yield from _from_parquet(entry, self._read)
                continue
            batches = self._batches(entry)
            if batches is not None:
                gathered.append((entry, batches))
                gathered_bytes += entry.chunk_length
            if gathered_bytes >= CHUNK_BYTES:
                yield from self._decoded(gathered)
                gathered, gathered_bytes = [], 0
        yield from self._decoded(gathered)

    def _batches(self, entry: WalEntry) -> list[StoredBatch] | None:
        """Read the entry's batches from the first offset on; None if they cannot be read."""
        try:
            (chunk,) = self._read(entry.wal_path, [ByteRange(entry.chunk_offset, entry.chunk_length)])
        except NotFound:
            self._fail(entry, "there is no such object")
            return None
        except OutOfRange as error:
            self._fail(entry, f"the object is truncated: {error}")
            return None
        except ObjectUnreadable as error:
            self._fail(entry, str(error))
            return None
        view, base = memoryview(chunk), entry.start_offset
        try:
            return [
                stored_batch(entry, row, view[row.position : row.position + row.length])
                for row in entry.rows
                if base + row.last_delta >= self._task.first_offset
            ]
        except DamagedBatch as error:
            self._fail(entry, str(error))
            return None

    def _decoded(self, gathered: Sequence[tuple[WalEntry, list[StoredBatch]]]) -> list[pa.RecordBatch]:
        """Decode entries together, or one by one if a batch is damaged, to find every entry that fails."""
        batches = [batch for _, some in gathered for batch in some]
        try:
            decoded = decode_convertible(self._task.partition, batches)
        except DamagedBatch as error:
            if len(gathered) > 1:
                return [rows for one in gathered for rows in self._decoded([one])]
            self._fail(gathered[0][0], str(error))
            return []
        for entry, _ in gathered:
            bad = [one for one in decoded.unconvertible if covers(entry, one.base_offset)]
            if bad:
                self._fail(entry, str(bad[0]))
        return decoded.rows

    def _fail(self, entry: WalEntry, reason: str) -> None:
        self.failed.append(UnconvertibleEntry(entry.start_offset, entry.end_offset, entry.path, reason))


def _from_parquet(entry: ParquetEntry, read: ReadRanges) -> Iterator[pa.RecordBatch]:
    with report_entry_damage(entry):
        (tail,) = read(entry.path, [tail_range(entry)])
        footer = read_footer(tail, entry.footer_crc)
        for number, group in enumerate(entry.groups):
            (data,) = read(entry.path, [group_range(group)])
            yield read_group(footer, number, group.position, data, SCHEMA.names)
