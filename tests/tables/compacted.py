"""A topic as stream and table on real stores, compacted without Spark: SQLite, a directory, Iceberg."""

import io
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from dray.cluster.topic_admin import TopicAdmin
from dray.cluster.topics import Topic, TopicCatalog
from dray.compaction.compactor import Compactor, TopicResult
from dray.compaction.deps import CompactionDeps
from dray.compaction.job_store import JobStore
from dray.compaction.leases import Leases
from dray.compaction.metrics import CompactionMetrics
from dray.compaction.publish import Publisher
from dray.compaction.settings import CompactionSettings
from dray.compaction.tasks import Task, TaskOutput, execute, has_output, reads_of
from dray.ids import StreamId
from dray.index import ParquetEntry, decode_entry
from dray.keyspace import entries_after
from dray.log import Log, LogDeps, LogMetrics, LogSettings
from dray.log.swap import Swapper
from dray.maintenance.detach import Detacher
from dray.maintenance.maintenance import MaintenanceDeps, TableMaintenance
from dray.meta.sqlite import SqliteMetaStore
from dray.objects.local import LocalObjects
from dray.observe import Metrics
from dray.records import BatchRules, Record, decode_batch, encode_batch, iter_batches, validate
from dray.runtime import SystemClock, SystemEntropy, Tasks, Threads
from dray.tables.port import TopicTable
from tests.log.builders import DOMAIN, STORE_DOMAIN, encode_at_once
from tests.tables.iceberg_harness import IcebergHarness

NOW_MS = 1_790_000_000_000
NO_GRACE = LogSettings(wal_gc_grace_ms=0, file_gc_grace_ms=0)
EAGER = CompactionSettings(
    wal_age_ms_max=0, merge_files_min=100, snapshot_age_ms_max=0, retry_backoff_ms_min=1, audit_interval_ms=1
)


class Compacted:
    """One topic `t` of one partition, its log, and a compactor."""

    def __init__(self, harness: IcebergHarness, meta: SqliteMetaStore, objects: LocalObjects) -> None:
        self.harness, self.meta, self.objects = harness, meta, objects
        self.clock, self.entropy, self.tasks = SystemClock(), SystemEntropy(), Tasks()
        self.threads = Threads("test", 1)
        self.log = self._log()
        self.topics = TopicCatalog(meta, self.clock)
        self.topic_admin = TopicAdmin(self.topics, meta, self.log, self.clock, self.entropy)

    def _log(self) -> Log:
        return Log(
            LogDeps(
                self.meta,
                self.objects,
                self.clock,
                self.entropy,
                self.tasks,
                NO_GRACE,
                LogMetrics.on(Metrics()),
                encode_group=encode_at_once,
            )
        )

    async def another_log(self) -> Log:
        """Open a log as another broker has it, with nothing in its caches."""
        log = self._log()
        await log.start()
        return log

    async def start(self) -> None:
        await self.log.start()
        await self.topics.start(self.tasks)
        await self.topic_admin.create("t", 1, {})

    async def stop(self) -> None:
        await self.log.close()
        await self.tasks.stop()
        await self.threads.stop()

    @property
    def topic(self) -> Topic:
        found = self.topics.find("t")
        assert found is not None
        return found

    @property
    def stream(self) -> StreamId:
        return self.topic.streams[0]

    @property
    def table(self) -> TopicTable:
        return TopicTable("t", self.topic.topic_id.hex())

    async def produce(self, count: int) -> None:
        """Append one batch of so many records."""
        sent = [
            Record(number, NOW_MS + number, b"k", b"v%d" % number, (("h", b"1"), ("h", None)))
            for number in range(count)
        ]
        batch = validate(memoryview(encode_batch(sent)), BatchRules(), NOW_MS)
        await (await self.log.append(self.stream, batch))

    async def run_pass(self, settings: CompactionSettings = EAGER) -> TopicResult:
        """Run one pass of a new compactor."""
        tables, jobs = await self.harness.open(), JobStore(self.meta, 1)
        swapper = Swapper(self.meta, DOMAIN, self.clock, NO_GRACE)
        parts = CompactionDeps(
            meta=self.meta,
            jobs=jobs,
            objects=self.objects,
            tables=tables,
            publisher=Publisher(jobs, tables, self.objects, self.clock, [swapper]),
            run_tasks=self._run_tasks,
            clock=self.clock,
            entropy=self.entropy,
            settings=settings,
            log_settings=NO_GRACE,
        )
        detacher = Detacher(self.meta, 1, tables, clock=self.clock, entropy=self.entropy, settings=NO_GRACE)
        metrics = CompactionMetrics.on(Metrics())
        maintenance = TableMaintenance(
            MaintenanceDeps(parts, self.topics, detacher, 1, metrics, self.threads.run)
        )
        leases = Leases(self.meta, self.entropy.token(4).hex(), 10_000)
        compactor = Compactor(parts, self.topics, leases, maintenance=maintenance, metrics=metrics)
        (result,) = [result async for result in compactor.run_pass()]
        await leases.close()
        return result

    async def _run_tasks(self, tasks: Sequence[Task]) -> list[TaskOutput]:
        return [await self._done(task) for task in tasks]

    async def _done(self, task: Task) -> TaskOutput:
        paths = dict.fromkeys(read.path for read in reads_of(task))
        whole = {path: memoryview(await self.objects.get(path)) for path in paths}
        output = io.BytesIO()
        done = execute(task, lambda path, ranges: [whole[path][at.start : at.end] for at in ranges], output)
        if has_output(done):
            await self.objects.put_new(task.path, [output.getvalue()])
        return done

    async def files(self) -> list[ParquetEntry]:
        stored = await self.meta.scan(STORE_DOMAIN, *entries_after(self.stream, -1))
        entries = [decode_entry(found.key, found.value) for found in stored]
        return [entry for entry in entries if isinstance(entry, ParquetEntry)]

    async def streamed(self, offset: int) -> list[tuple[int, bytes | None]]:
        """Offsets and values as a fetch from an offset on gets them."""
        found = await self.log.read(self.stream, offset, 1 << 30)
        batches = iter_batches(memoryview(b"".join(found.parts)))
        records = [record for _, batch in batches for record in decode_batch(batch)]
        return [(record.offset, record.value) for record in records if record.offset >= offset]

    def table_records(self) -> list[tuple[int, bytes | None]]:
        """The same as PyIceberg reads it from the table."""
        rows = self.harness.theirs(self.table).scan().to_arrow()
        columns = rows.sort_by("offset").select(["offset", "value"]).to_pylist()
        return [(row["offset"], row["value"]) for row in columns]

    def newest_metadata(self) -> Path:
        return Path(self.harness.theirs(self.table).metadata_location.removeprefix("file://"))


@asynccontextmanager
async def compacted(harness: IcebergHarness, folder: Path) -> AsyncIterator[Compacted]:
    tasks = Tasks()
    meta = await SqliteMetaStore.open(
        folder / "meta.db", clock=SystemClock(), entropy=SystemEntropy(), tasks=tasks
    )
    objects = await LocalObjects.open(harness.root)
    made = Compacted(harness, meta, objects)
    await made.start()
    yield made
    await made.stop()
    await tasks.stop()
    await objects.close()
    await meta.close()
