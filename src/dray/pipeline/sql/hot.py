"""The rows that are not in Parquet yet, decoded from their WAL objects.

They are few where topics are compacted. Where they are not, what does not fit into a part of memory goes to a
file that is mapped back: a query may go through the rows several times.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from dray.index import WalEntry
from dray.pipeline.blocking import BlockingStore
from dray.pipeline.read_ahead import AheadLimits, ReadAhead
from dray.pipeline.reading.pieces import pieces_of, telling
from dray.pipeline.reading.stretches import Stretch
from dray.records.columns import SCHEMA

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
    hot = [stretch for stretch in stretches if isinstance(stretch.entry, WalEntry)]
    pieces = [piece for stretch in hot for piece in pieces_of(stretch, None, SCHEMA.names)]
    ahead = ReadAhead(store, [piece.read for piece in pieces], AheadLimits())
    try:
        for piece in pieces:
            with telling(piece.stretch):
                (data,) = ahead.read(piece.read.path, [piece.read.at])
            yield from piece.rows(data)
    finally:
        ahead.stop()
