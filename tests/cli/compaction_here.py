"""Compaction of a cluster on disk or S3 in this process: real stores and a real catalogue, but no Spark."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import structs

from dray.cli.access import cluster_access, storage_access
from dray.cli.catalog import open_tables
from dray.cli.settings import DraySettings, load_settings
from dray.ids import MetaDomain
from dray.index import domain_name
from dray.log.swap import Swapper
from dray.meta.port import Domain
from dray.pipeline.access import OpenCluster
from dray.pipeline.blocking import StorageAccess
from dray.pipeline.job_store import JobStore
from dray.pipeline.parts import CompactionParts
from dray.pipeline.publish import Publisher
from dray.pipeline.report import RoundReport
from dray.pipeline.rounds import TopicRound
from dray.pipeline.spark.worker import carry_out
from dray.pipeline.stored_topics import find_topic
from dray.pipeline.work import Answer, Task
from tests.cli.clusters import FileCluster


def settings_of(cluster: FileCluster, more: Mapping[str, str] | None = None) -> DraySettings:
    """The settings of a process on the cluster's stores."""
    pairs = {
        "metadata.url": f"sqlite:{cluster.data_dir}/metadata.sqlite",
        "storage.url": f"file:{cluster.data_dir}/objects",
        "tables.catalog": f"sqlite:{cluster.data_dir}/tables.sqlite",
        **(more or {}),
    }
    return load_settings(None, {}, {}, tuple(f"{key}={value}" for key, value in pairs.items())).settings


def compact(settings: DraySettings, topic: str) -> RoundReport:
    """One round for one topic: everything that is there becomes Parquet, or small files are merged."""
    return asyncio.run(_compact(settings, topic))


async def _compact(settings: DraySettings, name: str) -> RoundReport:
    async with cluster_access(settings)() as cluster:
        tables = open_tables(
            settings.tables, settings.storage, cluster.cluster_id, cluster.clock, cluster.entropy
        )
        jobs = JobStore(cluster.meta, cluster.domains)
        swappers = [_swapper(cluster, settings, number) for number in range(cluster.domains)]
        parts = CompactionParts(
            meta=cluster.meta,
            jobs=jobs,
            objects=cluster.objects,
            tables=tables,
            publisher=Publisher(jobs, tables, cluster.objects, cluster.clock, swappers),
            perform=partial(_perform, storage_access(settings)),
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
    return Swapper(cluster.meta, Domain(domain_name(domain)), domain, cluster.clock, settings.log)


async def _perform(storage: StorageAccess, tasks: Sequence[Task]) -> list[Answer]:
    return [await asyncio.to_thread(carry_out, task, storage) for task in tasks]
