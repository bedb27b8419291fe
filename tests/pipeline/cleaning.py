"""Cleaning by key on memory stores, with the work of Spark done on the spot."""

import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from typing_extensions import Buffer

from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.index import Cleaned, ParquetEntry
from dray.pipeline.clean.rounds import TopicCleaning
from dray.pipeline.job_store import JobStore
from dray.pipeline.report import RoundReport
from dray.pipeline.rewrite import SpanTask, rewrite
from dray.pipeline.rounds import TopicRound
from dray.pipeline.topic_tables import table_of
from dray.pipeline.work import Answer, Task
from dray.records import BatchRules, Record, decode_batch, encode_batch, iter_batches, validate
from tests.log.builders import ONE, OpenLog, Rig
from tests.log.compacting import TOPIC, records
from tests.pipeline.rounds import STREAMS, Compaction

RETENTION_S = 100
GROUP_BYTES = 60
"""Two rows of one letter each."""
COMPACT = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0",
    "delete.retention.ms": str(RETENTION_S * 1000),
}


class Row(NamedTuple):
    """A record as the tests compare it."""

    offset: int
    key: bytes | None
    value: bytes | None


class Cleaning(Compaction):
    """Compactors that clean as well, for a topic of two streams."""

    def __init__(self, rig: Rig, configs: dict[str, str] | None = None) -> None:
        super().__init__(rig)
        self.topic = Topic(TOPIC.name, TOPIC.topic_id, STREAMS, COMPACT | (configs or {}), 0)
        self.performed: list[Task] = []
        self._compactors = 0

    def round(self, name: str = "", **how: Any) -> TopicRound:
        """Each is another compactor's: it draws other names for its files."""
        self._compactors += 1
        return super().round(f"{name}{self._compactors}", **how)

    def cleaning(self, **how: Any) -> TopicCleaning:
        return TopicCleaning(self.round(**how)._parts, self.topic)

    async def clean(self, **how: Any) -> RoundReport:
        return await self.cleaning(**how).run()

    def _done(self, task: Task, output: io.BytesIO) -> Answer:
        """Write files whose row groups hold few rows, and note tasks of cleaning."""
        if isinstance(task, SpanTask):
            return rewrite(task, self._read, output, group_bytes=GROUP_BYTES)
        self.performed.append(task)
        return super()._done(task, output)

    async def cleaned(self, stream: StreamId = ONE) -> Cleaned:
        stored = await JobStore(self.rig.meta, 1).load(stream)
        return Cleaned() if stored is None else stored.job.cleaned

    async def stream_rows(self, stream: StreamId = ONE) -> list[Row]:
        """What a broker with no cache serves."""
        self._compactors += 1
        opened = await self.rig.open(f"reader {self._compactors}")
        head = await self.rig.head(stream)
        found = [_row(record) for record in await records(opened, stream, head.log_start)]
        await opened.log.close()
        return found

    def table_rows(self, partition: int = 0) -> list[Row]:
        """What is in the table."""
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
    """Append one batch: `a1 b- -2` are a value 1 for a, a tombstone for b, and a value without a key."""
    now_ms = opened._clock.now_ms()
    made = [
        Record(number, now_ms, _bytes(word[0]), _bytes(word[1])) for number, word in enumerate(text.split())
    ]
    batch = validate(memoryview(encode_batch(made)), BatchRules(), now_ms)
    await (await opened.log.append(stream, batch))


def _bytes(letter: str) -> bytes | None:
    return None if letter == "-" else letter.encode()


def told(rows: Sequence[Row]) -> str:
    """The rows as `write` takes them, each with its offset."""
    return " ".join(f"{row.offset}{_letter(row.key)}{_letter(row.value)}" for row in rows)


def told_parts(parts: Sequence[Buffer]) -> str:
    """Batches as a fetch sends them, likewise."""
    whole = memoryview(b"".join(parts))
    return told([_row(record) for _, batch in iter_batches(whole) for record in decode_batch(batch)])


def _letter(value: bytes | None) -> str:
    return "-" if value is None else value.decode()
