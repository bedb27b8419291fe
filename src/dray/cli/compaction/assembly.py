"""A compactor: everything below put together, from the stores to Spark, which starts with the first file.

Imports Spark's and Iceberg's libraries, so it is itself imported only by those who compact.
"""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from dray.cli.access import storage_access
from dray.cli.addresses import Address
from dray.cli.catalog import open_tables
from dray.cli.failure import Failure
from dray.cli.settings import DraySettings
from dray.cli.wiring import Stores, Surroundings, open_stores, store_checks
from dray.cluster import ClusterIdentity, IdentityError, StoreNames, find
from dray.cluster.topics import Streams, Topics
from dray.console import CannotServeHttp, HttpServer, health_routes
from dray.ids import MetaDomain, StreamId
from dray.index import domain_name
from dray.log.swap import Swapper
from dray.meta.port import Domain, MetaError
from dray.objects.port import ObjectError
from dray.pipeline.care.care import Care, CareParts
from dray.pipeline.care.detach import Detacher
from dray.pipeline.compactor import Compactor
from dray.pipeline.job_store import JobStore
from dray.pipeline.leases import Leases
from dray.pipeline.metrics import CompactionMetrics
from dray.pipeline.parts import CompactionParts
from dray.pipeline.publish import Publisher
from dray.pipeline.spark.job import EngineParts, SparkEngine
from dray.pipeline.spark.watching import Note
from dray.runtime import Threads
from dray.tables.port import Tables


@asynccontextmanager
async def running_compactor(
    settings: DraySettings, around: Surroundings, note: Note
) -> AsyncIterator[Compactor]:
    """Make a compactor for the cluster in these stores, and end what it started."""
    async with AsyncExitStack() as stopping:
        stores = await stopping.enter_async_context(open_stores(settings, around))
        try:
            identity = await _identity(settings, stores)
            assembly = _Assembly(settings, around, stores, identity)
            yield await assembly.start(note, stopping)
        except (MetaError, ObjectError, IdentityError, CannotServeHttp) as error:
            raise Failure(str(error)) from error


class _Assembly:
    """What a compactor is made of."""

    def __init__(
        self, settings: DraySettings, around: Surroundings, stores: Stores, identity: ClusterIdentity
    ) -> None:
        self._settings = settings
        self._around = around
        self._stores = stores
        self._domains = identity.domains
        self._cluster_id = identity.cluster_id

    async def start(self, note: Note, stopping: AsyncExitStack) -> Compactor:
        meta, around, settings = self._stores.meta, self._around, self._settings
        tables = open_tables(
            settings.tables,
            settings.storage,
            self._cluster_id,
            around.clock,
            around.entropy,
            forgets_moved=True,
        )
        stopping.push_async_callback(tables.close)
        engine = SparkEngine(EngineParts(around.clock, around.entropy, around.tasks, settings.spark))
        stopping.push_async_callback(engine.close)
        leases = Leases(meta, self._holder(), settings.metadata.session_ttl_ms)
        stopping.push_async_callback(leases.close)
        topics = Topics(meta, Streams(_never, _never, _never), around.clock, around.entropy)
        await topics.start(around.tasks)
        parts = self._parts(tables, engine, note)
        detacher = Detacher(
            meta,
            self._domains,
            tables,
            clock=around.clock,
            entropy=around.entropy,
            settings=settings.log,
        )
        metrics = CompactionMetrics.on(around.metrics)
        threads = Threads("repair", 1)
        stopping.push_async_callback(threads.stop)
        care = Care(CareParts(parts, topics, detacher, self._domains, metrics, threads.run))
        if settings.compaction.http is not None:
            await self._show(settings.compaction.http, stopping)
        return Compactor(parts, topics, leases, detacher, care=care, metrics=metrics)

    async def _show(self, address: str, stopping: AsyncExitStack) -> None:
        """Serve health and metrics."""
        self._around.metrics.add_process()
        server = HttpServer(health_routes(store_checks(self._stores), self._around.metrics))
        await server.start(*Address.parse(address))
        stopping.push_async_callback(server.stop)

    def _parts(self, tables: Tables, engine: SparkEngine, note: Note) -> CompactionParts:
        stores, around, settings = self._stores, self._around, self._settings
        storage = storage_access(settings)
        jobs = JobStore(stores.meta, self._domains)
        swappers = [self._swapper(MetaDomain(number)) for number in range(self._domains)]
        return CompactionParts(
            meta=stores.meta,
            jobs=jobs,
            objects=stores.objects,
            tables=tables,
            publisher=Publisher(jobs, tables, stores.objects, around.clock, swappers),
            perform=partial(engine.perform, storage=storage, note=note),
            clock=around.clock,
            entropy=around.entropy,
            settings=settings.compaction,
            log_settings=settings.log,
        )

    def _swapper(self, domain: MetaDomain) -> Swapper:
        store_domain = Domain(domain_name(domain))
        return Swapper(self._stores.meta, store_domain, domain, self._around.clock, self._settings.log)

    def _holder(self) -> str:
        """Name this process in its leases, for people and apart from all others."""
        return f"{socket.gethostname()}-{os.getpid()}-{self._around.entropy.token(4).hex()}"


async def _identity(settings: DraySettings, stores: Stores) -> ClusterIdentity:
    names = StoreNames(settings.metadata.url, settings.storage.url)
    found = await find(stores.meta, stores.objects, names)
    if found is None:
        raise Failure(f"there is no cluster in {names.metadata} and {names.objects}: start a broker first")
    return found


async def _never(_: StreamId) -> None:
    raise AssertionError("a compactor makes and deletes no topics")
