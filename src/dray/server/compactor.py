"""Assembly of a compactor, from the stores to Spark, which starts with the first file.

Imports the libraries of Spark and Iceberg, so only processes that compact import this module.
"""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from dray.cluster import ClusterIdentity, StoreNames
from dray.cluster.addresses import Address
from dray.cluster.topics import TopicCatalog
from dray.compaction.commit_limits import within
from dray.compaction.compactor import Compactor
from dray.compaction.deps import CompactionDeps
from dray.compaction.job_store import JobStore
from dray.compaction.leases import Leases
from dray.compaction.metrics import CompactionMetrics
from dray.compaction.publish import Publisher
from dray.console import HttpServer, health_routes
from dray.ids import MetaDomain
from dray.log.swap import Swapper
from dray.maintenance.detach import Detacher
from dray.maintenance.maintenance import MaintenanceDeps, TableMaintenance
from dray.meta.port import MetaError
from dray.net import CannotListen, NetMetrics
from dray.objects.port import ObjectError
from dray.runtime import Threads
from dray.server.access import existing_cluster, storage_access
from dray.server.catalog import open_tables
from dray.server.errors import StartupError
from dray.server.stores import ProcessContext, Stores, open_stores, store_checks
from dray.server.supersession import Supersession
from dray.settings import DraySettings
from dray.spark.engine import EngineDeps, SparkEngine
from dray.spark.job_monitor import OnProgress
from dray.tables.port import Tables


@asynccontextmanager
async def running_compactor(
    settings: DraySettings, context: ProcessContext, on_progress: OnProgress, *, waits: bool = False
) -> AsyncIterator[Compactor]:
    """Provide a compactor for the cluster in these stores until the block ends."""
    async with AsyncExitStack() as stopping:
        stores = await stopping.enter_async_context(open_stores(settings, context, waits=waits))
        try:
            identity = await existing_cluster(settings, stores)
            assembly = _CompactorAssembly(settings, context, stores, identity)
            yield await assembly.start(on_progress, stopping)
        except (MetaError, ObjectError, CannotListen) as error:
            raise StartupError(str(error)) from error


class _CompactorAssembly:
    """The parts of a compactor."""

    def __init__(
        self, settings: DraySettings, context: ProcessContext, stores: Stores, identity: ClusterIdentity
    ) -> None:
        self._settings = settings
        self._context = context
        self._stores = stores
        self._identity = identity
        self._domains = identity.domains

    async def start(self, on_progress: OnProgress, stopping: AsyncExitStack) -> Compactor:
        meta, context, settings = self._stores.meta, self._context, self._settings
        tables = open_tables(
            settings.tables,
            settings.storage,
            self._identity.cluster_id,
            context.clock,
            context.entropy,
            forgets_moved=True,
        )
        stopping.push_async_callback(tables.close)
        engine = SparkEngine(EngineDeps(context.clock, context.entropy, context.tasks, settings.spark))
        stopping.push_async_callback(engine.close)
        leases = Leases(meta, self._holder(), settings.metadata.session_ttl_ms)
        stopping.push_async_callback(leases.close)
        topics = TopicCatalog(meta, context.clock)
        await topics.start(context.tasks)
        deps = self._deps(tables, engine, on_progress)
        detacher = Detacher(
            meta,
            self._domains,
            tables,
            clock=context.clock,
            entropy=context.entropy,
            settings=settings.log,
        )
        metrics = CompactionMetrics.on(context.metrics)
        threads = Threads("repair", 1)
        stopping.push_async_callback(threads.stop)
        maintenance = TableMaintenance(
            MaintenanceDeps(deps, topics, detacher, self._domains, metrics, threads.run)
        )
        if settings.compaction.http is not None:
            await self._serve_http(settings.compaction.http, stopping)
        names = StoreNames(settings.metadata.url, settings.storage.url)
        supersession = Supersession(self._stores.objects, self._identity, names)
        return Compactor(
            deps,
            topics,
            leases,
            maintenance=maintenance,
            metrics=metrics,
            before_pass=supersession.require_current,
        )

    async def _serve_http(self, address: str, stopping: AsyncExitStack) -> None:
        """Serve health and metrics."""
        self._context.metrics.add_process()
        context = self._context
        server = HttpServer(
            health_routes(store_checks(self._stores), context.metrics),
            clock=context.clock,
            tasks=context.tasks,
            metrics=NetMetrics.on(context.metrics),
        )
        await server.start(*Address.parse(address))
        stopping.push_async_callback(server.stop)

    def _deps(self, tables: Tables, engine: SparkEngine, on_progress: OnProgress) -> CompactionDeps:
        stores, context, settings = self._stores, self._context, self._settings
        storage = storage_access(settings)
        jobs = JobStore(stores.meta, self._domains)
        swappers = [self._swapper(MetaDomain(number)) for number in range(self._domains)]
        return CompactionDeps(
            meta=stores.meta,
            jobs=jobs,
            objects=stores.objects,
            tables=tables,
            publisher=Publisher(jobs, tables, stores.objects, context.clock, swappers),
            run_tasks=partial(engine.run_tasks, storage=storage, on_progress=on_progress),
            clock=context.clock,
            entropy=context.entropy,
            settings=within(settings.compaction, stores.meta.limits),
            log_settings=settings.log,
        )

    def _swapper(self, domain: MetaDomain) -> Swapper:
        return Swapper(self._stores.meta, domain, self._context.clock, self._settings.log)

    def _holder(self) -> str:
        """Return a name for this process in its leases: unique and human-readable."""
        return f"{socket.gethostname()}-{os.getpid()}-{self._context.entropy.token(4).hex()}"
