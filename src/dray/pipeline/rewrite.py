"""What one task does: read the records of a span, and write them as one Parquet file.

Synchronous, over two callables, so that it runs in a Spark worker as well as in a test. It keeps no more in
memory than one entry of the index, some megabytes before it and one row group, besides the file itself.

A batch that its producer made unreadable, so that no client can read it either, becomes no rows; how many
there were is told. A batch that was sound once and is damaged now, or one that is too large to be read here,
is `LogDamaged`: the job must not go on, or the log would lose it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import pyarrow as pa

from dray.formats.parquet_v1 import GROUP_BYTES, SCHEMA, FileWriter, Output, read_footer, read_group
from dray.ids import FileId, StreamId
from dray.index import FilePlace, IndexEntry, ParquetEntry, WalEntry, covers
from dray.log.errors import entry_damaged
from dray.log.row_groups import group_range, tail_range
from dray.objects.port import ByteRange, NotFound
from dray.pipeline.damage import telling_of
from dray.pipeline.places import place_of
from dray.pipeline.reads import Read, ReadRanges
from dray.records.columns import (
    CHUNK_BYTES,
    DamagedBatch,
    OversizedBatch,
    StoredBatch,
    decode_readable,
    since,
)


class SpanTask(msgspec.Struct, frozen=True, tag="span"):
    """One file to be written: of which stream, from which entries, and where to."""

    stream: StreamId
    partition: int
    entries: tuple[IndexEntry, ...]
    first_offset: int
    file_id: FileId
    path: str


class Rewritten(msgspec.Struct, frozen=True, tag="rewritten"):
    """A file that was written."""

    place: FilePlace
    unreadable_batches: int
    first_unreadable: str = ""
    """What is wrong with the first of them."""


def reads_of(task: SpanTask) -> Iterator[Read]:
    """Foretell what `rewrite` reads, in its order."""
    for entry in task.entries:
        if isinstance(entry, ParquetEntry):
            yield Read(entry.path, tail_range(entry))
            yield from (Read(entry.path, group_range(group)) for group in entry.groups)
        else:
            yield Read(entry.wal_path, ByteRange(entry.chunk_offset, entry.chunk_length))


def rewrite(task: SpanTask, read: ReadRanges, output: Output, *, group_bytes: int = GROUP_BYTES) -> Rewritten:
    """Write the records of the span from its first offset on to `output`."""
    writer = FileWriter(output, group_bytes=group_bytes)
    unreadable: list[str] = []
    for found in _found(task, read):
        unreadable += found.unreadable
        for rows in found.rows:
            writer.write(since(rows, task.first_offset))
    written = writer.close()
    start = max(task.entries[0].start_offset, task.first_offset)
    place = place_of(task.file_id, task.path, start, task.entries[-1].end_offset, written)
    return Rewritten(place, len(unreadable), unreadable[0] if unreadable else "")


class _Found(NamedTuple):
    rows: Iterable[pa.RecordBatch]
    unreadable: Sequence[str] = ()


def _found(task: SpanTask, read: ReadRanges) -> Iterator[_Found]:
    """Read the entries, those in the WAL some megabytes at a time: one by one, small ones would cost more
    for each than for their records."""
    waiting: list[StoredBatch] = []
    waiting_bytes = 0
    for entry in task.entries:
        if isinstance(entry, ParquetEntry):
            if waiting:
                yield _decoded(task, waiting)
            waiting, waiting_bytes = [], 0
            yield _Found(_from_parquet(entry, read))
            continue
        waiting += _from_wal(entry, read)
        waiting_bytes += entry.chunk_length
        if waiting_bytes >= CHUNK_BYTES:
            yield _decoded(task, waiting)
            waiting, waiting_bytes = [], 0
    if waiting:
        yield _decoded(task, waiting)


def _from_wal(entry: WalEntry, read: ReadRanges) -> list[StoredBatch]:
    with telling_of(entry):
        try:
            (chunk,) = read(entry.wal_path, [ByteRange(entry.chunk_offset, entry.chunk_length)])
        except NotFound as error:
            raise entry_damaged(entry, "there is no such object") from error
    view = memoryview(chunk)
    return [
        StoredBatch(entry.start_offset + row.start_delta, view[row.position : row.position + row.length])
        for row in entry.rows
    ]


def _decoded(task: SpanTask, batches: Sequence[StoredBatch]) -> _Found:
    try:
        rows, unreadable = decode_readable(task.partition, batches)
        return _Found(rows, unreadable)
    except (DamagedBatch, OversizedBatch) as error:
        (damaged,) = (entry for entry in task.entries if covers(entry, error.base_offset))
        raise entry_damaged(damaged, error) from error


def _from_parquet(entry: ParquetEntry, read: ReadRanges) -> Iterator[pa.RecordBatch]:
    with telling_of(entry):
        (tail,) = read(entry.path, [tail_range(entry)])
        footer = read_footer(tail, entry.footer_crc)
        for number, group in enumerate(entry.groups):
            (data,) = read(entry.path, [group_range(group)])
            yield read_group(footer, number, group.position, data, SCHEMA.names)
