"""Hot rows: those that are not in Parquet yet, decoded from WAL objects.

There are few of them where topics are compacted. Beyond a memory limit they are spilled to a file, which is
memory-mapped, because a query may scan the rows several times.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from dray.index import WalEntry
from dray.records.columns import SCHEMA
from dray.scan.blocking import BlockingStore
from dray.scan.pieces import pieces_of, report_range_damage
from dray.scan.ranges import EntryRange
from dray.scan.read_ahead import AheadLimits, ReadAhead

IN_MEMORY_BYTES: Final = 256 << 20


def hot_rows(
    store: BlockingStore,
    entry_ranges: Sequence[EntryRange],
    spill: Path,
    in_memory_bytes: int = IN_MEMORY_BYTES,
) -> pa.Table:
    """Return the rows in WAL objects; raises `LogDamaged`, `NotFound` and other errors of the stores."""
    kept: list[pa.RecordBatch] = []
    held = 0
    rows = _decoded(store, entry_ranges)
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


def _decoded(store: BlockingStore, entry_ranges: Sequence[EntryRange]) -> Iterator[pa.RecordBatch]:
    hot = [entry_range for entry_range in entry_ranges if isinstance(entry_range.entry, WalEntry)]
    pieces = [piece for entry_range in hot for piece in pieces_of(entry_range, None, SCHEMA.names)]
    ahead = ReadAhead(store, [piece.read for piece in pieces], AheadLimits())
    try:
        for piece in pieces:
            with report_range_damage(piece.entry_range):
                (data,) = ahead.read(piece.read.path, [piece.read.at])
            yield from piece.rows(data)
    finally:
        ahead.stop()
