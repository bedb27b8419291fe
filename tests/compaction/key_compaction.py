"""Key compaction on in-memory stores, with tasks executed in the test process."""

import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from typing_extensions import Buffer

from dray.cluster.topics import Topic
from dray.compaction.job_store import JobStore
from dray.compaction.key_compaction.rounds import KeyCompactionRound
from dray.compaction.report import RoundReport
from dray.compaction.rewrite import RewriteTask, rewrite
from dray.compaction.rounds import TopicRound
from dray.compaction.tasks import Task, TaskOutput
from dray.compaction.topic_tables import table_of
from dray.ids import StreamId
from dray.index import KeyCompactionState, ParquetEntry
from dray.records import BatchRules, Record, decode_batch, encode_batch, iter_batches, validate
from tests.compaction.rounds import STREAMS, Compaction
from tests.log.builders import ONE, OpenLog, Rig
from tests.log.compacting import TOPIC, records

RETENTION_S = 100
GROUP_BYTES = 60
"""Two rows of one letter each."""
COMPACT = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0",
    "delete.retention.ms": str(RETENTION_S * 1000),
    "max.compaction.lag.ms": "1",
}
"""The active segment ends immediately, so that everything in Parquet files is compacted."""


class Row(NamedTuple):
    """A record as the tests compare it."""

    offset: int
    key: bytes | None
    value: bytes | None


class KeyCompaction(Compaction):
    """Compactors of a key-compacted topic with two streams."""

    def __init__(self, rig: Rig, configs: dict[str, str] | None = None) -> None:
        super().__init__(rig)
        self.topic = Topic(TOPIC.name, TOPIC.topic_id, STREAMS, COMPACT | (configs or {}), 0)
        self.tasks: list[Task] = []
        self._compactors = 0

    def round(self, name: str = "", **how: Any) -> TopicRound:
        """Return a round of a new compactor, which draws other names for its files."""
        self._compactors += 1
        return super().round(f"{name}{self._compactors}", **how)

    def key_compaction_round(self, **how: Any) -> KeyCompactionRound:
        return KeyCompactionRound(self.round(**how)._deps, self.topic)

    async def compact_keys(self, **how: Any) -> RoundReport:
        return await self.key_compaction_round(**how).run()

    def _execute(self, task: Task, output: io.BytesIO) -> TaskOutput:
        """Write files whose row groups hold few rows, and record tasks of key compaction."""
        if isinstance(task, RewriteTask):
            return rewrite(task, self._read, output, group_bytes=GROUP_BYTES)
        self.tasks.append(task)
        return super()._execute(task, output)

    async def state(self, stream: StreamId = ONE) -> KeyCompactionState:
        stored = await JobStore(self.rig.meta, 1).load(stream)
        return KeyCompactionState() if stored is None else stored.job.key_compaction

    async def stream_rows(self, stream: StreamId = ONE) -> list[Row]:
        """Return what a broker without cached records serves."""
        self._compactors += 1
        opened = await self.rig.open(f"reader {self._compactors}")
        head = await self.rig.head(stream)
        found = [_row(record) for record in await records(opened, stream, head.log_start)]
        await opened.log.close()
        return found

    def table_rows(self, partition: int = 0) -> list[Row]:
        """Return the rows of the table."""
        found: list[Row] = []
        for file in self.catalog.current(table_of(TOPIC)).files:
            if file.partition == partition:
                whole = pq.read_table(io.BytesIO(self.rig.bucket.get(file.path)))
                found += [Row(row["offset"], row["key"], row["value"]) for row in whole.to_pylist()]
        return sorted(found)

    async def files(self, stream: StreamId = ONE) -> list[ParquetEntry]:
        return [entry for entry in await self.rig.entries(stream) if isinstance(entry, ParquetEntry)]


def _row(record: Record) -> Row:
    return Row(record.offset, record.key, record.value)


async def write(opened: OpenLog, text: str, stream: StreamId = ONE) -> None:
    """Append one batch: `a1 b- -2` is value 1 for key a, a tombstone for key b, and a value without a key."""
    now_ms = opened._clock.now_ms()
    made = [
        Record(number, now_ms, _bytes(word[0]), _bytes(word[1])) for number, word in enumerate(text.split())
    ]
    batch = validate(memoryview(encode_batch(made)), BatchRules(), now_ms)
    await (await opened.log.append(stream, batch))


def _bytes(letter: str) -> bytes | None:
    return None if letter == "-" else letter.encode()


def as_text(rows: Sequence[Row]) -> str:
    """Return rows in the notation of `write`, each with its offset."""
    return " ".join(f"{row.offset}{_letter(row.key)}{_letter(row.value)}" for row in rows)


def batches_as_text(batches: Sequence[Buffer]) -> str:
    """Return the records of fetched batches in that notation."""
    whole = memoryview(b"".join(batches))
    return as_text([_row(record) for _, batch in iter_batches(whole) for record in decode_batch(batch)])


def _letter(value: bytes | None) -> str:
    return "-" if value is None else value.decode()
