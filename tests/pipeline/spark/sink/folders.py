"""A cluster in a folder, as tests and the processes of their Spark open it, and a data source over it."""

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

from dray.cluster.topics import Streams, Topic, Topics
from dray.ids import MetaDomain
from dray.index import decode_object, object_range
from dray.log import Log, LogMetrics, LogParts, LogSettings
from dray.log.load_records import store_domain
from dray.meta.sqlite import SqliteMetaStore
from dray.objects.local import LocalObjects
from dray.objects.retrying import Retrying
from dray.observe import Metrics
from dray.pipeline.access import ClusterAccess, OpenCluster
from dray.pipeline.blocking import StorageAccess
from dray.pipeline.spark.sink import open_writer
from dray.records import Record, decode_batch, iter_batches
from dray.runtime import SystemClock, SystemEntropy, Tasks
from tests.log.builders import encode_at_once
from tests.pipeline.spark.stores import open_directory, open_dying

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
    """A cluster that nobody has open."""

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
        """What the data source below needs to find it."""
        return {"folder": str(self.folder), "domains": str(self.domains)}

    def objects(self) -> list[Path]:
        return sorted(path for path in (self.folder / "objects").rglob("*") if path.is_file())

    def committed_paths(self) -> list[str]:
        async def read(cluster: OpenCluster) -> list[str]:
            found = []
            for domain in map(MetaDomain, range(self.domains)):
                stored = await cluster.meta.scan(store_domain(domain), *object_range(domain))
                found += [decode_object(one.key, one.value).path for one in stored]
            return found

        return self.within(read)

    def make_topic(self, name: str, partitions: int, **configs: str) -> Topic:
        named = {key.replace("_", "."): value for key, value in configs.items()}

        async def make(cluster: OpenCluster) -> Topic:
            return await self.topics(cluster).create(name, partitions, named)

        return self.within(make)

    def find_topic(self, name: str) -> Topic:
        async def find(cluster: OpenCluster) -> Topic:
            found = await self.topics(cluster).fresh(name)
            assert found is not None
            return found

        return self.within(find)

    def topics(self, cluster: OpenCluster) -> Topics:
        log = _log(cluster)
        streams = Streams(log.create_stream, log.condemn_stream, log.delete_stream)
        return Topics(cluster.meta, streams, cluster.clock, cluster.entropy)

    def records(self, topic: Topic) -> list[list[Record]]:
        """Everything that can be read, by partition."""

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
        LogParts(
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
    """`format("dray")` for a cluster in a folder; with `marks`, workers die as `open_dying` says."""

    @classmethod
    def name(cls) -> str:
        return "dray"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        cluster = FolderCluster(Path(self.options["folder"]), int(self.options["domains"]))
        storage = cluster.storage
        if "marks" in self.options:
            storage = partial(open_dying, cluster.folder / "objects", ".wo", Path(self.options["marks"]))
        mine = ("folder", "domains", "marks")
        options = {name: text for name, text in self.options.items() if name not in mine}
        return open_writer(options, schema, overwrite, cluster.access, storage)


def new_cluster(folder: Path, domains: int = 1) -> FolderCluster:
    (folder / "objects").mkdir(parents=True)
    return FolderCluster(folder, domains)


def make_active(session: SparkSession) -> None:
    """Spark looks for data sources in the session of its own thread; ours was made in another."""
    jvm = session._jvm
    assert jvm is not None
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)
