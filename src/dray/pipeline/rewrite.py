"""What one task does: read the records of a span, and write them as one Parquet file.

Synchronous, over two callables, so that it runs in a Spark worker as well as in a test. It keeps no more in
memory than one entry of the index and one row group, besides the file itself.

A batch that its producer made unreadable, so that no client can read it either, becomes no rows; how many
there were is told. A batch that was sound once and is damaged now is an error: the job must not go on.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import pyarrow as pa
from typing_extensions import Buffer

from dray.formats.parquet_v1 import SCHEMA, FileWriter, Output, WrittenFile, read_footer, read_group
from dray.ids import FileId, StreamId
from dray.index import (
    FilePlace,
    GroupRow,
    IndexEntry,
    ParquetEntry,
    WalEntry,
    pack_groups,
)
from dray.log.row_groups import group_range, tail_range
from dray.objects.port import ByteRange
from dray.records.columns import StoredBatch, UnreadableBatch, decode, since

ReadRanges = Callable[[str, Sequence[ByteRange]], Sequence[Buffer]]


class Read(NamedTuple):
    """A range of an object that a task reads."""

    path: str
    at: ByteRange


class SpanTask(msgspec.Struct, frozen=True):
    """One file to be written: of which stream, from which entries, and where to."""

    stream: StreamId
    partition: int
    entries: tuple[IndexEntry, ...]
    first_offset: int
    file_id: FileId
    path: str


class Rewritten(msgspec.Struct, frozen=True):
    """A file that was written; `tail` is its footer, for the table's catalogue."""

    place: FilePlace
    tail: bytes
    unreadable_batches: int


def reads_of(task: SpanTask) -> Iterator[Read]:
    """Foretell what `rewrite` reads, in its order."""
    for entry in task.entries:
        if isinstance(entry, ParquetEntry):
            yield Read(entry.path, _tail(entry))
            yield from (Read(entry.path, ByteRange(group.position, group.length)) for group in entry.groups)
        else:
            yield Read(entry.wal_path, ByteRange(entry.chunk_offset, entry.chunk_length))


def rewrite(task: SpanTask, read: ReadRanges, output: Output) -> Rewritten:
    """Write the records of the span from its first offset on to `output`."""
    writer = FileWriter(output)
    unreadable = 0
    for entry in task.entries:
        if isinstance(entry, ParquetEntry):
            found = _from_parquet(entry, read)
        else:
            rows, bad = _from_wal(task.partition, entry, read)
            unreadable += bad
            found = iter(rows)
        for rows_of_entry in found:
            writer.write(since(rows_of_entry, task.first_offset))
    written = writer.close()
    return Rewritten(_place(task, written), written.tail, unreadable)


def _from_wal(partition: int, entry: WalEntry, read: ReadRanges) -> tuple[list[pa.RecordBatch], int]:
    (chunk,) = read(entry.wal_path, [ByteRange(entry.chunk_offset, entry.chunk_length)])
    view = memoryview(chunk)
    batches = [
        StoredBatch(entry.start_offset + row.start_delta, view[row.position : row.position + row.length])
        for row in entry.rows
    ]
    try:
        return list(decode(partition, batches)), 0
    except UnreadableBatch:
        return _one_by_one(partition, batches)


def _one_by_one(partition: int, batches: Sequence[StoredBatch]) -> tuple[list[pa.RecordBatch], int]:
    """Find out which batches can be read; slow, and rarely needed."""
    found: list[pa.RecordBatch] = []
    unreadable = 0
    for batch in batches:
        try:
            found += decode(partition, [batch])
        except UnreadableBatch:
            unreadable += 1
    return found, unreadable


def _from_parquet(entry: ParquetEntry, read: ReadRanges) -> Iterator[pa.RecordBatch]:
    (tail,) = read(entry.path, [tail_range(entry)])
    footer = read_footer(tail, entry.footer_crc)
    for number, group in enumerate(entry.groups):
        (data,) = read(entry.path, [group_range(group)])
        yield read_group(footer, number, group.position, data, SCHEMA.names)


def _tail(entry: ParquetEntry) -> ByteRange:
    return ByteRange(entry.size_bytes - entry.footer_bytes, entry.footer_bytes)


def _place(task: SpanTask, written: WrittenFile) -> FilePlace:
    start = max(task.entries[0].start_offset, task.first_offset)
    return FilePlace(
        file_id=task.file_id,
        path=task.path,
        size_bytes=written.size_bytes,
        footer_bytes=len(written.tail),
        footer_crc=written.crc,
        start_offset=start,
        end_offset=task.entries[-1].end_offset,
        record_count=written.row_count,
        min_timestamp_ms=written.min_timestamp_ms,
        max_timestamp_ms=written.max_timestamp_ms,
        packed_groups=pack_groups(_groups(start, written)),
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
