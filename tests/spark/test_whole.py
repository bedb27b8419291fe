"""End-to-end compaction on real stores: SQLite, a directory, Spark, and a catalog in SQLite."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dray.cluster.topics import Topic
from dray.compaction.deps import CompactionDeps
from dray.compaction.job_store import JobStore
from dray.compaction.publish import Publisher
from dray.compaction.rounds import TopicRound
from dray.compaction.settings import CompactionSettings
from dray.compaction.topic_tables import table_of
from dray.ids import StreamId, TopicRef
from dray.index import ParquetEntry
from dray.log import Log, LogDeps, LogMetrics, LogSettings
from dray.log.swap import Swapper
from dray.meta.sqlite import SqliteMetaStore
from dray.objects.local import LocalObjects
from dray.observe import Metrics
from dray.records import BatchRules, Codec, Record, decode_batch, encode_batch, iter_batches, validate
from dray.runtime import SystemClock, SystemEntropy, Tasks
from dray.tables.iceberg import IcebergSettings, IcebergTables, SqlCatalogSettings
from tests.log.builders import DOMAIN, encode_at_once
from tests.spark.stores import open_directory
from tests.tables.duck import reading_iceberg

if TYPE_CHECKING:
    from dray.spark.engine import SparkEngine

pytestmark = [pytest.mark.slow, pytest.mark.real("java")]

TOPIC = Topic("web.clicks", bytes(range(16)), (StreamId(1), StreamId(2)), {}, 0)
REF = TopicRef(TOPIC.name, TOPIC.topic_id)
CODECS = (Codec.NONE, Codec.ZSTD, Codec.LZ4, Codec.SNAPPY, Codec.GZIP)


class Whole:
    """The parts of a cluster that compaction uses, without brokers."""

    def __init__(self, folder: Path, meta: SqliteMetaStore, objects: LocalObjects, tasks: Tasks) -> None:
        self.folder, self.meta, self.objects = folder, meta, objects
        self.clock, self.entropy, self.tasks = SystemClock(), SystemEntropy(), tasks
        self.tables = IcebergTables(
            IcebergSettings(
                catalog=SqlCatalogSettings(path=str(folder / "tables.db")),
                root=f"file://{folder / 'objects'}",
                cluster_id="c1",
            ),
            self.clock,
            self.entropy,
        )

    async def log(self) -> Log:
        """Open another log, with empty caches."""
        log = Log(
            LogDeps(
                self.meta,
                self.objects,
                self.clock,
                self.entropy,
                self.tasks,
                LogSettings(),
                LogMetrics.on(Metrics()),
                encode_group=encode_at_once,
            )
        )
        await log.start()
        return log

    def round(self, engine: "SparkEngine") -> TopicRound:
        jobs = JobStore(self.meta, 1)
        swapper = Swapper(self.meta, DOMAIN, self.clock, LogSettings())
        storage = partial(open_directory, self.folder / "objects")
        deps = CompactionDeps(
            meta=self.meta,
            jobs=jobs,
            objects=self.objects,
            tables=self.tables,
            publisher=Publisher(jobs, self.tables, self.objects, self.clock, [swapper]),
            run_tasks=partial(engine.run_tasks, storage=storage),
            clock=self.clock,
            entropy=self.entropy,
            settings=CompactionSettings(wal_age_ms_max=0),
            log_settings=LogSettings(),
        )
        return TopicRound(deps, TOPIC)


@asynccontextmanager
async def whole(folder: Path) -> AsyncIterator[Whole]:
    tasks = Tasks()
    clock, entropy = SystemClock(), SystemEntropy()
    (folder / "objects").mkdir()
    meta = await SqliteMetaStore.open(folder / "meta.db", clock=clock, entropy=entropy, tasks=tasks)
    objects = await LocalObjects.open(folder / "objects")
    made = Whole(folder, meta, objects, tasks)
    yield made
    await made.tables.close()
    await tasks.stop()
    await objects.close()
    await meta.close()


async def _produce(log: Log) -> None:
    rules = BatchRules()
    for stream in TOPIC.streams:
        await log.create_stream(stream)
        for number in range(20):
            sent = [
                Record(
                    offset=offset,
                    timestamp=1_700_000_000_000 + number * 100 + offset,
                    key=None if offset % 4 == 0 else b"key",
                    value=None if offset % 5 == 0 else f"{stream}/{number}/{offset}".encode(),
                    headers=(("h", b"1"), ("h", None)) if offset % 3 == 0 else (),
                )
                for offset in range(50)
            ]
            batch = encode_batch(sent, codec=CODECS[number % len(CODECS)])
            await (await log.append(stream, validate(memoryview(batch), rules, 1_700_000_000_000)))


async def _read(log: Log, stream: StreamId) -> list[Record]:
    found: list[Record] = []
    offset = 0
    while True:
        part = await log.read(stream, offset, 64 * 1024)
        if not part.parts:
            return found
        joined = memoryview(b"".join(part.parts))
        found += [record for _, batch in iter_batches(joined) for record in decode_batch(batch)]
        offset = part.next_offset


async def test_stream_and_table_have_the_same_records_after_compaction(
    engine: "SparkEngine", tmp_path: Path
) -> None:
    async with whole(tmp_path) as cluster:
        log = await cluster.log()
        await _produce(log)
        before = {stream: await _read(log, stream) for stream in TOPIC.streams}
        report = await cluster.round(engine).run()
        assert (report.files, report.records, report.failures) == (2, 2_000, [])
        again = await cluster.round(engine).run()
        assert (again.files, again.failures) == (0, [])

        after = await cluster.log()
        for stream in TOPIC.streams:
            entry = await after._domains[0].reader.entry_at(stream, 0)
            assert isinstance(entry, ParquetEntry)
            assert await _read(after, stream) == before[stream]
        live = (await cluster.tables.current(table_of(REF))).files
        assert [(file.partition, file.records) for file in live] == [(0, 1_000), (1, 1_000)]
        await log.close()
        await after.close()
    _check_by_duckdb(tmp_path, before)


def _check_by_duckdb(folder: Path, sent: dict[StreamId, list[Record]]) -> None:
    """Check the rows that DuckDB reads from the table."""
    newest = max((folder / "objects").rglob("*.metadata.json"), key=lambda path: path.stat().st_mtime_ns)
    with reading_iceberg() as duck:
        query = 'SELECT partition, "offset", key, value, len(headers) FROM iceberg_scan(?) ORDER BY 1, 2'
        rows = duck.execute(query, [str(newest)]).fetchall()
    expected = [
        (partition, record.offset, record.key, record.value, len(record.headers))
        for partition, stream in enumerate(TOPIC.streams)
        for record in sent[stream]
    ]
    assert rows == expected
