"""The rows that are not in Parquet yet, decoded from their WAL objects.

They are few where topics are compacted. Where they are not, what does not fit into a part of memory goes to a
file that is mapped back: a query may go through the rows several times.

A batch that its producer made unreadable, so that no client can read it either, has no rows here, as it has
none in the table.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
from typing_extensions import Buffer

from dray.index import BatchRow, WalEntry
from dray.log.errors import LogDamaged, restore_object
from dray.objects.port import ByteRange, OutOfRange
from dray.pipeline.rewrite import Read
from dray.pipeline.spark.blocking import BlockingStore
from dray.pipeline.spark.read_ahead import AheadLimits, ReadAhead
from dray.pipeline.sql.snapshot import Stretch
from dray.records.columns import SCHEMA, DamagedBatch, StoredBatch, UnreadableBatch, decode

IN_MEMORY_BYTES: Final = 256 << 20


def hot_rows(
    store: BlockingStore, stretches: Sequence[Stretch], spill: Path, in_memory_bytes: int = IN_MEMORY_BYTES
) -> pa.Table:
    """Return the rows of stretches in WAL objects; raises `LogDamaged`, `NotFound` and the like."""
    kept: list[pa.RecordBatch] = []
    held = 0
    rows = _decoded(store, stretches)
    for batch in rows:
        kept.append(batch)
        held += batch.nbytes
        if held > in_memory_bytes:
            return _spilled(kept, rows, spill)
    return pa.Table.from_batches(kept, SCHEMA)


def _spilled(kept: Sequence[pa.RecordBatch], more: Iterator[pa.RecordBatch], path: Path) -> pa.Table:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, SCHEMA) as writer:
        for batch in kept:
            writer.write_batch(batch)
        for batch in more:
            writer.write_batch(batch)
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def _decoded(store: BlockingStore, stretches: Sequence[Stretch]) -> Iterator[pa.RecordBatch]:
    wanted = [
        (stretch, entry, rows) for stretch, entry in _in_wal(stretches) if (rows := _batches(stretch, entry))
    ]
    reads = [_read(entry, rows) for _, entry, rows in wanted]
    ahead = ReadAhead(store, reads, AheadLimits())
    try:
        for (stretch, entry, rows), read in zip(wanted, reads, strict=True):
            try:
                (data,) = ahead.read(read.path, [read.at])
                yield from _rows(stretch, entry, rows, data)
            except (DamagedBatch, OutOfRange) as error:
                raise _damaged(entry, error) from error
    finally:
        ahead.stop()


def _in_wal(stretches: Sequence[Stretch]) -> Iterator[tuple[Stretch, WalEntry]]:
    for stretch in stretches:
        if isinstance(stretch.entry, WalEntry):
            yield stretch, stretch.entry


def _batches(stretch: Stretch, entry: WalEntry) -> list[BatchRow]:
    base = entry.start_offset
    reaching = entry.rows.reaching(stretch.first_offset - base)
    return [row for row in reaching if base + row.start_delta < stretch.end_offset]


def _read(entry: WalEntry, rows: Sequence[BatchRow]) -> Read:
    start = rows[0].position
    length = rows[-1].position + rows[-1].length - start
    return Read(entry.wal_path, ByteRange(entry.chunk_offset + start, length))


def _rows(
    stretch: Stretch, entry: WalEntry, rows: Sequence[BatchRow], data: Buffer
) -> Iterator[pa.RecordBatch]:
    view, start = memoryview(data), rows[0].position
    batches = [
        StoredBatch(
            entry.start_offset + row.start_delta,
            view[row.position - start : row.position - start + row.length],
        )
        for row in rows
    ]
    for found in _readable(stretch.partition, batches):
        offsets = found.column("offset").to_numpy()
        first, end = offsets.searchsorted([stretch.first_offset, stretch.end_offset])
        if end > first:
            yield found.slice(int(first), int(end - first))


def _readable(partition: int, batches: Sequence[StoredBatch]) -> list[pa.RecordBatch]:
    try:
        return list(decode(partition, batches))
    except UnreadableBatch:
        return [rows for batch in batches for rows in _one(partition, batch)]


def _one(partition: int, batch: StoredBatch) -> list[pa.RecordBatch]:
    try:
        return list(decode(partition, [batch]))
    except UnreadableBatch:
        return []


def _damaged(entry: WalEntry, why: Exception) -> LogDamaged:
    where = f"offsets {entry.start_offset} to {entry.end_offset - 1}"
    return LogDamaged(f"{where} are in {entry.path}, and {why}", restore_object(entry.path, entry.end_offset))
