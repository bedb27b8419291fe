"""Execution of a write task: collects rows, encodes WAL objects, and puts them.

Rows are collected up to a size, partitioned and sorted in one step, encoded, and written as one object per
meta domain. At most two puts are in flight while the next rows are prepared, so a task holds a few times
`object_bytes`, however long it runs.

Nothing here is visible to readers. A task that dies leaves objects that no commit names; its retry writes new
ones under new names.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dray.formats import wal_v1
from dray.ids import LoadId, MetaDomain, meta_domain
from dray.index import Chunk, WalEntry
from dray.index.loads import load_path
from dray.log.bulk_plan import LoadedObject, entries_of
from dray.log.reservations import new_wal_id
from dray.records import TimestampType
from dray.records.rules import create_time_fault
from dray.runtime import Clock, Entropy
from dray.scan.blocking import BlockingStore
from dray.spark.errors import CannotWrite
from dray.spark.sink.batches import MadeChunk, make_chunk
from dray.spark.sink.columns import FrameColumns, frame_columns, route
from dray.spark.sink.write_target import WriteTarget

_PUTS_MAX: Final = 2


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """Parameters of a load for its tasks; pickled to the executors."""

    load_id: LoadId
    domains: int
    """Of the cluster."""
    target: WriteTarget
    object_bytes: int
    load_ms: int
    """The start of the load."""


class TaskLoad:
    """Writes the rows of one task."""

    def __init__(
        self, plan: TaskPlan, task: int, store: BlockingStore, clock: Clock, entropy: Entropy
    ) -> None:
        self._plan = plan
        self._task = task
        self._store = store
        self._clock = clock
        self._entropy = entropy
        self._puts: deque[Future[None]] = deque()
        self._written: list[LoadedObject] = []

    def run(self, batches: Iterable[pa.RecordBatch]) -> list[LoadedObject]:
        """Write all rows; returns once they are durable."""
        for rows in _gathered(batches, self._plan.object_bytes):
            self._write(rows)
        while self._puts:
            self._puts.popleft().result()
        return self._written

    def _write(self, rows: pa.RecordBatch) -> None:
        columns = self._timed(frame_columns(rows, self._plan.load_ms))
        streams = self._plan.target.streams
        routed = route(columns.partition, columns.key, len(streams), self._task)
        chunks: dict[MetaDomain, list[MadeChunk]] = {}
        for partition, part in _by_partition(columns, routed, len(streams)):
            domain = meta_domain(streams[partition], self._plan.domains)
            chunks.setdefault(domain, []).append(make_chunk(part, partition, self._plan.target))
        for domain, made in chunks.items():
            self._put(domain, made)

    def _timed(self, columns: FrameColumns) -> FrameColumns:
        """Set or validate timestamps by the rules of the topic."""
        rules, load_ms = self._plan.target.rules, self._plan.load_ms
        millis = columns.timestamp_ms
        if rules.timestamp_type is TimestampType.LOG_APPEND:
            return columns._replace(timestamp_ms=np.full(len(millis), load_ms, np.int64))
        for extreme in (int(millis.min()), int(millis.max())):
            fault = create_time_fault(extreme, rules, load_ms)
            if fault is not None:
                raise CannotWrite(f"{self._plan.target.topic.name} rejects a row: its {fault}")
        return columns

    def _put(self, domain: MetaDomain, made: list[MadeChunk]) -> None:
        now_ms = self._clock.now_ms()
        wal_id = new_wal_id(now_ms, self._entropy)
        date = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y/%m/%d")
        path = load_path(self._plan.load_id, domain, date, wal_id)
        encoded = wal_v1.encode(wal_id, domain, now_ms, [chunk.draft() for chunk in made])
        if len(self._puts) >= _PUTS_MAX:
            self._puts.popleft().result()
        self._puts.append(self._store.begin(self._store.store.put_new(path, encoded.parts)))
        by_stream = {chunk.stream: chunk for chunk in made}
        entries: list[WalEntry] = []
        for placed in encoded.chunks:
            chunk = Chunk(
                placed.stream, wal_id, path, placed.chunk_offset, placed.chunk_length, encoded.size_bytes
            )
            entries += entries_of(chunk, by_stream[placed.stream].batch_drafts(placed))
        self._written.append(LoadedObject(wal_id, path, domain, encoded.size_bytes, tuple(entries)))


def _gathered(batches: Iterable[pa.RecordBatch], bytes_max: int) -> Iterator[pa.RecordBatch]:
    """Combine small batches up to a size; empty ones are dropped."""
    held: list[pa.RecordBatch] = []
    held_bytes = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        held_bytes += batch.nbytes
        if held_bytes >= bytes_max:
            yield pa.concat_batches(held)
            held, held_bytes = [], 0
    if held:
        yield pa.concat_batches(held)


def _by_partition(
    columns: FrameColumns, routed: NDArray[np.int32], partitions: int
) -> Iterator[tuple[int, FrameColumns]]:
    """Yield the rows of each partition that has any, in their original order."""
    order = np.argsort(routed, kind="stable")
    ends = np.searchsorted(routed[order], np.arange(partitions + 1))
    for partition in range(partitions):
        mine = order[ends[partition] : ends[partition + 1]]
        if len(mine):
            yield partition, _taken(columns, mine)


def _taken(columns: FrameColumns, rows: NDArray[np.int64]) -> FrameColumns:
    first, last = int(rows[0]), int(rows[-1])
    if last - first + 1 == len(rows):  # contiguous: no copy needed
        part = slice(first, last + 1)
        arrays = (columns.key[part], columns.value[part], columns.headers[part])
        return FrameColumns(*arrays, columns.timestamp_ms[part], columns.partition[part])
    taken = pa.array(rows)
    arrays = (columns.key.take(taken), columns.value.take(taken), columns.headers.take(taken))
    return FrameColumns(*arrays, columns.timestamp_ms[rows], columns.partition[rows])
