"""Compaction in this process with real stores and a real catalog, by default without Spark."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import structs

from dray.cluster.topics import find_topic
from dray.compaction.deps import CompactionDeps
from dray.compaction.engine import RunTasks
from dray.compaction.job_store import JobStore
from dray.compaction.publish import Publisher
from dray.compaction.report import RoundReport
from dray.compaction.rounds import TopicRound
from dray.compaction.tasks import Task, TaskOutput
from dray.ids import MetaDomain
from dray.log.swap import Swapper
from dray.scan.access import OpenCluster, StorageAccess
from dray.server.access import cluster_access, storage_access
from dray.server.catalog import open_tables
from dray.settings import DraySettings, load_settings
from dray.spark.worker import run_task
from tests.cli.clusters import FileCluster


def settings_of(cluster: FileCluster, more: Mapping[str, str] | None = None) -> DraySettings:
    """Return the settings of a process on the cluster's stores."""
    pairs = {
        "metadata.url": f"sqlite:{cluster.data_dir}/metadata.sqlite",
        "storage.url": f"file:{cluster.data_dir}/objects",
        "tables.catalog": f"sqlite:{cluster.data_dir}/tables.sqlite",
        **(more or {}),
    }
    return load_settings(None, {}, {}, tuple(f"{key}={value}" for key, value in pairs.items())).settings


def compact(settings: DraySettings, topic: str, run_tasks: RunTasks | None = None) -> RoundReport:
    """Run one compaction round of a topic: compact everything, or merge small files."""
    return asyncio.run(_compact(settings, topic, run_tasks))


async def _compact(settings: DraySettings, name: str, run_tasks: RunTasks | None = None) -> RoundReport:
    async with cluster_access(settings)() as cluster:
        tables = open_tables(
            settings.tables, settings.storage, cluster.cluster_id, cluster.clock, cluster.entropy
        )
        jobs = JobStore(cluster.meta, cluster.domains)
        swappers = [_swapper(cluster, settings, number) for number in range(cluster.domains)]
        parts = CompactionDeps(
            meta=cluster.meta,
            jobs=jobs,
            objects=cluster.objects,
            tables=tables,
            publisher=Publisher(jobs, tables, cluster.objects, cluster.clock, swappers),
            run_tasks=run_tasks or partial(_run_tasks, storage_access(settings)),
            clock=cluster.clock,
            entropy=cluster.entropy,
            settings=structs.replace(settings.compaction, wal_age_ms_max=0),
            log_settings=settings.log,
        )
        try:
            topic = await find_topic(cluster.meta, name)
            assert topic is not None
            return await TopicRound(parts, topic).run()
        finally:
            await tables.close()


def _swapper(cluster: OpenCluster, settings: DraySettings, number: int) -> Swapper:
    domain = MetaDomain(number)
    return Swapper(cluster.meta, domain, cluster.clock, settings.log)


async def _run_tasks(storage: StorageAccess, tasks: Sequence[Task]) -> list[TaskOutput]:
    return [await asyncio.to_thread(run_task, task, storage) for task in tasks]
