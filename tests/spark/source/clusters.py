"""Cluster on disk without brokers, in SQLite and a directory: topics, records, and their compaction.

Every call opens and closes the stores, as a process other than Spark's would.
"""

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from dray.cluster import claim
from dray.cluster.topic_admin import TopicAdmin
from dray.cluster.topics import Topic, TopicCatalog
from dray.compaction.deps import CompactionDeps
from dray.compaction.job_store import JobStore
from dray.compaction.publish import Publisher
from dray.compaction.report import RoundReport
from dray.compaction.rounds import TopicRound
from dray.compaction.settings import CompactionSettings
from dray.compaction.tasks import Task, TaskOutput, execute, has_output, reads_of
from dray.ids import MetaDomain
from dray.log import Log, LogDeps, LogMetrics, LogSettings
from dray.log.swap import Swapper
from dray.meta.port import MetaStore
from dray.objects.port import ByteRange, NotFound, ObjectStore
from dray.observe import Metrics
from dray.records import BatchRules, Codec, Record, ValidBatch, encode_batch, validate
from dray.runtime import SystemClock, SystemEntropy
from dray.server.stores import open_stores, process_context
from dray.settings import DraySettings, load_settings
from dray.sweep.files import FileSweep
from dray.sweep.wal import WalSweep
from dray.testing.memory_tables import MemoryCatalog, MemoryTables
from tests.log.builders import encode_at_once

T = TypeVar("T")
START_MS: Final = 1_700_000_000_000
CODECS: Final = (Codec.NONE, Codec.ZSTD, Codec.LZ4, Codec.SNAPPY, Codec.GZIP)
DOMAINS: Final = 2
_NO_GRACE: Final = LogSettings(wal_gc_grace_ms=0, file_gc_grace_ms=0)
Row = tuple[int, int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]
"""Partition, offset, milliseconds, key, value, headers."""


@dataclass(slots=True)
class _Open:
    meta: MetaStore
    objects: ObjectStore
    log: Log
    topics: TopicCatalog
    topic_admin: TopicAdmin


class DiskCluster:
    """A new cluster in a folder; `sent` are the rows that a reader should find."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sent: dict[str, list[Row]] = {}
        self._catalog = MemoryCatalog(SystemClock())

    @property
    def settings(self) -> DraySettings:
        return load_settings(None, {}, {"--data-dir": str(self.folder)}, []).settings

    def create(self, topic: str, partitions: int = 2) -> Topic:
        self.sent[topic] = []
        return self._run(lambda opened: opened.topic_admin.create(topic, partitions, {}))

    def grow(self, topic: str, partitions: int) -> Topic:
        return self._run(lambda opened: opened.topic_admin.grow(topic, partitions))

    def delete(self, topic: str) -> None:
        async def work(opened: _Open) -> None:
            found = await opened.topics.fresh(topic)
            assert found is not None
            await opened.topic_admin.delete(topic, found.topic_id)

        self._run(work)

    def append(self, topic: str, partition: int = 0, *, batches: int = 1, records: int = 10) -> list[Row]:
        """Append batches of all codecs, with headers, nulls and empty values; one WAL object for each."""

        async def work(opened: _Open) -> list[Row]:
            found = await opened.topics.fresh(topic)
            assert found is not None
            stream, new = found.streams[partition], []
            for _ in range(batches):
                head = await opened.log.head(stream)
                made = _records(partition, head.high_watermark, records)
                codec = CODECS[head.high_watermark // records % len(CODECS)]
                batch = encode_batch(made, codec=codec)
                await (await opened.log.append(stream, validate(memoryview(batch), BatchRules(), START_MS)))
                base = head.high_watermark
                new += [
                    (partition, base + one.offset, one.timestamp, one.key, one.value, tuple(one.headers))
                    for one in made
                ]
            return new

        new = self._run(work)
        self.sent[topic] += new
        return new

    def append_batch(self, topic: str, partition: int, batch: ValidBatch) -> None:
        """Append one batch as it is, without adding its records to `sent`."""

        async def work(opened: _Open) -> None:
            found = await opened.topics.fresh(topic)
            assert found is not None
            await (await opened.log.append(found.streams[partition], batch))

        self._run(work)

    def trim(self, topic: str, partition: int, before: int) -> None:
        """Remove the beginning of a partition, as retention does."""

        async def work(opened: _Open) -> None:
            found = await opened.topics.fresh(topic)
            assert found is not None
            await opened.log.trim(found.streams[partition], before)

        self._run(work)
        self.sent[topic] = [
            row for row in self.sent[topic] if (row[0], row[1]) >= (partition, before) or row[0] != partition
        ]

    def compact(self, topic: str) -> RoundReport:
        """Rewrite all WAL entries as Parquet, with the tasks run in this process instead of Spark."""
        return self._run(lambda opened: self._compact(opened, topic))

    def sweep(self) -> None:
        """Delete everything unreferenced, without a grace period."""

        async def work(opened: _Open) -> None:
            clock = SystemClock()
            for number in map(MetaDomain, range(DOMAINS)):
                await WalSweep(opened.meta, opened.objects, number, clock, 0).run()
                await FileSweep(
                    opened.meta, opened.objects, number, domains=DOMAINS, clock=clock, orphan_ttl_ms=0
                ).run()

        self._run(work)

    def objects(self, prefix: str) -> set[str]:
        root = self.folder / "objects"
        return {str(path.relative_to(root)) for path in (root / prefix).rglob("*") if path.is_file()}

    async def _compact(self, opened: _Open, topic: str) -> RoundReport:
        found = await opened.topics.fresh(topic)
        assert found is not None
        clock, entropy = SystemClock(), SystemEntropy()
        tables = MemoryTables(self._catalog, None, clock, 0.0)
        jobs = JobStore(opened.meta, DOMAINS)
        swappers = [
            Swapper(opened.meta, number, clock, _NO_GRACE) for number in map(MetaDomain, range(DOMAINS))
        ]
        publisher = Publisher(jobs, tables, opened.objects, clock, swappers)

        async def run_tasks(tasks: Sequence[Task]) -> list[TaskOutput]:
            return [await _run_task(opened.objects, task) for task in tasks]

        settings = CompactionSettings(wal_age_ms_max=0, merge_files_min=2)
        deps = CompactionDeps(
            opened.meta,
            jobs,
            opened.objects,
            tables,
            publisher,
            run_tasks,
            clock,
            entropy,
            settings,
            _NO_GRACE,
        )
        return await TopicRound(deps, found).run()

    def _run(self, work: Callable[[_Open], Awaitable[T]]) -> T:
        async def run() -> T:
            async with self._opened() as opened:
                return await work(opened)

        return asyncio.run(run())

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[_Open]:
        context = process_context()
        async with open_stores(self.settings, context) as stores:
            clock, entropy = context.clock, context.entropy
            await claim(
                stores.meta, stores.objects, cluster_id=None, domains=DOMAINS, clock=clock, entropy=entropy
            )
            deps = LogDeps(
                stores.meta,
                stores.objects,
                clock,
                entropy,
                context.tasks,
                _NO_GRACE,
                LogMetrics.on(Metrics()),
                domains=DOMAINS,
                encode_group=encode_at_once,
            )
            log = Log(deps)
            await log.start()
            topics = TopicCatalog(stores.meta, clock)
            admin = TopicAdmin(topics, stores.meta, log, clock, entropy)
            yield _Open(stores.meta, stores.objects, log, topics, admin)
            await log.close()


async def _run_task(objects: ObjectStore, task: Task) -> TaskOutput:
    """Run a task on objects read beforehand: `execute` does not await."""
    whole: dict[str, memoryview] = {}
    for path in dict.fromkeys(read.path for read in reads_of(task)):
        with suppress(NotFound):
            whole[path] = memoryview(await objects.get(path))

    def read(path: str, ranges: Sequence[ByteRange]) -> list[memoryview]:
        if path not in whole:
            raise NotFound(path)
        return [whole[path][one.start : one.end] for one in ranges]

    output = io.BytesIO()
    done = execute(task, read, output)
    if has_output(done):
        await objects.put_new(task.path, [output.getvalue()])
    return done


def _records(partition: int, base: int, count: int) -> list[Record]:
    """Timestamps are one second apart by offset, and half a second by partition."""
    return [
        Record(
            offset=number,
            timestamp=START_MS + (base + number) * 1000 + partition * 500,
            key=None if number % 4 == 0 else f"{partition}/{base}".encode(),
            value=None
            if number % 5 == 1
            else b""
            if number % 5 == 2
            else f"value {number} ".encode() * number,
            headers=(("h", b"1"), ("h", None), ("é", b"")) if number % 3 == 0 else (),
        )
        for number in range(count)
    ]
