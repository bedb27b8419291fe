"""What a task of a write does: gather rows, make WAL objects of them, put them, tell where everything is.

Rows are gathered up to a bound, routed and sorted by partition in one go, encoded, and written as one object
for each meta domain. Two puts are under way at most while the next rows are made ready; so a task holds a
few times `object_bytes` and no more, however long it runs.

Nothing here is visible to anybody. A task that dies leaves objects that no commit names; one that is done
again writes new ones under new names.
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
from dray.ids import MetaDomain, meta_domain
from dray.index import Chunk, WalEntry
from dray.index.loads import LoadId, load_path
from dray.log.bulk_plan import LoadedObject, entries_of
from dray.log.reservations import new_wal_id
from dray.pipeline.blocking import BlockingStore
from dray.pipeline.spark.sink.batches import MadeChunk, make_chunk
from dray.pipeline.spark.sink.columns import FrameColumns, frame_columns
from dray.pipeline.spark.sink.errors import CannotWrite
from dray.pipeline.spark.sink.routing import route
from dray.pipeline.spark.sink.terms import Terms
from dray.records import TimestampType
from dray.records.rules import create_time_fault
from dray.runtime import Clock, Entropy

_PUTS_MAX: Final = 2


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """What every task of a load is told; travels by pickle."""

    load_id: LoadId
    domains: int
    """Of the cluster."""
    terms: Terms
    object_bytes: int
    load_ms: int
    """The time of the load: when it began."""


class TaskLoad:
    """One task's work."""

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
        """Write everything; returns when it is durable."""
        for rows in _gathered(batches, self._plan.object_bytes):
            self._write(rows)
        while self._puts:
            self._puts.popleft().result()
        return self._written

    def _write(self, rows: pa.RecordBatch) -> None:
        columns = self._timed(frame_columns(rows, self._plan.load_ms))
        streams = self._plan.terms.streams
        routed = route(columns.partition, columns.key, len(streams), self._task)
        chunks: dict[MetaDomain, list[MadeChunk]] = {}
        for partition, part in _by_partition(columns, routed, len(streams)):
            domain = meta_domain(streams[partition], self._plan.domains)
            chunks.setdefault(domain, []).append(make_chunk(part, partition, self._plan.terms))
        for domain, made in chunks.items():
            self._put(domain, made)

    def _timed(self, columns: FrameColumns) -> FrameColumns:
        """Set or judge the rows' times, as the topic says."""
        rules, load_ms = self._plan.terms.rules, self._plan.load_ms
        millis = columns.timestamp_ms
        if rules.timestamp_type is TimestampType.LOG_APPEND:
            return columns._replace(timestamp_ms=np.full(len(millis), load_ms, np.int64))
        for extreme in (int(millis.min()), int(millis.max())):
            fault = create_time_fault(extreme, rules, load_ms)
            if fault is not None:
                raise CannotWrite(f"{self._plan.terms.topic.name} does not take a row: its {fault}")
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
    """Join small batches until they reach the bound; those of no rows go nowhere."""
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
    """Give the rows of each partition that has some, in the order in which they came."""
    order = np.argsort(routed, kind="stable")
    ends = np.searchsorted(routed[order], np.arange(partitions + 1))
    for partition in range(partitions):
        mine = order[ends[partition] : ends[partition + 1]]
        if len(mine):
            yield partition, _taken(columns, mine)


def _taken(columns: FrameColumns, rows: NDArray[np.int64]) -> FrameColumns:
    first, last = int(rows[0]), int(rows[-1])
    if last - first + 1 == len(rows):  # ascending and without a gap: no need to copy
        part = slice(first, last + 1)
        arrays = (columns.key[part], columns.value[part], columns.headers[part])
        return FrameColumns(*arrays, columns.timestamp_ms[part], columns.partition[part])
    taken = pa.array(rows)
    arrays = (columns.key.take(taken), columns.value.take(taken), columns.headers.take(taken))
    return FrameColumns(*arrays, columns.timestamp_ms[rows], columns.partition[rows])
