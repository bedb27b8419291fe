"""Cluster in a folder, opened by tests and by the processes of their Spark, and a data source for it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceWriter
from pyspark.sql.types import StructType

from dray.cluster.topic_admin import TopicAdmin
from dray.cluster.topics import Topic, TopicCatalog, find_topic
from dray.ids import MetaDomain
from dray.index import decode_object
from dray.keyspace import wal_object_range
from dray.log import Log, LogDeps, LogMetrics, LogSettings
from dray.log.load_records import store_domain
from dray.meta.sqlite import SqliteMetaStore
from dray.objects.local import LocalObjects
from dray.objects.retrying import Retrying
from dray.observe import Metrics
from dray.records import Record, decode_batch, iter_batches
from dray.runtime import SystemClock, SystemEntropy, Tasks
from dray.scan.access import ClusterAccess, OpenCluster, StorageAccess
from dray.spark.sink import open_writer
from tests.log.builders import encode_at_once
from tests.spark.stores import open_directory, open_killed_after_put

T = TypeVar("T")


@asynccontextmanager
async def open_folder(folder: Path, domains: int) -> AsyncIterator[OpenCluster]:
    tasks, clock, entropy = Tasks(), SystemClock(), SystemEntropy()
    meta = await SqliteMetaStore.open(folder / "meta.db", clock=clock, entropy=entropy, tasks=tasks)
    objects = Retrying(await LocalObjects.open(folder / "objects"), clock, entropy)
    yield OpenCluster(meta, objects, "c", domains, clock, entropy, tasks)
    await tasks.stop()
    await objects.close()
    await meta.close()


@dataclass(frozen=True)
class FolderCluster:
    """A cluster on disk, opened for each call."""

    folder: Path
    domains: int = 1

    @property
    def access(self) -> ClusterAccess:
        return partial(open_folder, self.folder, self.domains)

    @property
    def storage(self) -> StorageAccess:
        return partial(open_directory, self.folder / "objects")

    @property
    def options(self) -> dict[str, str]:
        """Options of `FolderSource` that name this cluster."""
        return {"folder": str(self.folder), "domains": str(self.domains)}

    def objects(self) -> list[Path]:
        return sorted(path for path in (self.folder / "objects").rglob("*") if path.is_file())

    def committed_paths(self) -> list[str]:
        async def read(cluster: OpenCluster) -> list[str]:
            found = []
            for domain in map(MetaDomain, range(self.domains)):
                stored = await cluster.meta.scan(store_domain(domain), *wal_object_range(domain))
                found += [decode_object(one.key, one.value).path for one in stored]
            return found

        return self.within(read)

    def make_topic(self, name: str, partitions: int, **configs: str) -> Topic:
        named = {key.replace("_", "."): value for key, value in configs.items()}

        async def make(cluster: OpenCluster) -> Topic:
            return await self.topic_admin(cluster).create(name, partitions, named)

        return self.within(make)

    def find_topic(self, name: str) -> Topic:
        async def find(cluster: OpenCluster) -> Topic:
            found = await find_topic(cluster.meta, name)
            assert found is not None
            return found

        return self.within(find)

    def topic_admin(self, cluster: OpenCluster) -> TopicAdmin:
        topics = TopicCatalog(cluster.meta, cluster.clock)
        return TopicAdmin(topics, cluster.meta, _log(cluster), cluster.clock, cluster.entropy)

    def records(self, topic: Topic) -> list[list[Record]]:
        """Return all records, by partition."""

        async def read(cluster: OpenCluster) -> list[list[Record]]:
            log = _log(cluster)
            await log.start()
            try:
                return [await _read(log, topic, partition) for partition in range(len(topic.streams))]
            finally:
                await log.close()

        return self.within(read)

    def within(self, body: Callable[[OpenCluster], Coroutine[Any, Any, T]]) -> T:
        async def run() -> T:
            async with open_folder(self.folder, self.domains) as cluster:
                return await body(cluster)

        return asyncio.run(run())


async def _read(log: Log, topic: Topic, partition: int) -> list[Record]:
    found: list[Record] = []
    offset = 0
    while True:
        part = await log.read(topic.streams[partition], offset, 1 << 20)
        if not part.parts:
            return found
        joined = memoryview(b"".join(part.parts))
        found += [record for _, batch in iter_batches(joined) for record in decode_batch(batch)]
        offset = part.next_offset


def _log(cluster: OpenCluster) -> Log:
    return Log(
        LogDeps(
            cluster.meta,
            cluster.objects,
            cluster.clock,
            cluster.entropy,
            cluster.tasks,
            LogSettings(),
            LogMetrics.on(Metrics()),
            domains=cluster.domains,
            encode_group=encode_at_once,
        )
    )


class FolderSource(DataSource):
    """`format("dray")` for a cluster in a folder; `marks` are those of `KilledAfterPut`."""

    @classmethod
    def name(cls) -> str:
        return "dray"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        cluster = FolderCluster(Path(self.options["folder"]), int(self.options["domains"]))
        storage = cluster.storage
        if "marks" in self.options:
            storage = partial(
                open_killed_after_put, cluster.folder / "objects", ".wo", Path(self.options["marks"])
            )
        own = ("folder", "domains", "marks")
        options = {name: text for name, text in self.options.items() if name not in own}
        return open_writer(options, schema, overwrite, cluster.access, storage)


def new_cluster(folder: Path, domains: int = 1) -> FolderCluster:
    (folder / "objects").mkdir(parents=True)
    return FolderCluster(folder, domains)


def make_active(session: SparkSession) -> None:
    """Make a session that another thread created the active one, where Spark looks up data sources."""
    jvm = session._jvm
    assert jvm is not None
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)
