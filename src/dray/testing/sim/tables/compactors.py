"""Simulated compactors: the real one on faulty stores, in a process that may crash or stall at every step."""

from collections.abc import Callable
from random import Random
from typing import ParamSpec, TypeVar

from dray.cluster.topics import TopicCatalog
from dray.compaction.compactor import Compactor
from dray.compaction.deps import CompactionDeps
from dray.compaction.job_store import JobStore
from dray.compaction.leases import Leases
from dray.compaction.metrics import CompactionMetrics
from dray.compaction.publish import Publisher
from dray.compaction.settings import CompactionSettings
from dray.ids import MetaDomain
from dray.log import LogSettings
from dray.log.swap import Swapper
from dray.maintenance.detach import Detacher
from dray.maintenance.maintenance import MaintenanceDeps, TableMaintenance
from dray.meta.port import MetaError
from dray.observe import Metrics
from dray.tables.port import Tables, TablesError
from dray.testing.nodes import Node
from dray.testing.sim.brokers import OpenStores
from dray.testing.sim.history import History
from dray.testing.sim.tables.brokers import TableStores
from dray.testing.sim.tables.engine import InProcessEngine
from dray.testing.sim.tables.invariants import Counts

P = ParamSpec("P")
T = TypeVar("T")
_LEASE_MS = 600

COMPACTION = CompactionSettings(
    wal_age_ms_max=300,
    wal_bytes_max=1_500,
    wal_entries_max=2,
    file_bytes_target=60_000,
    entries_per_file_max=3,
    merge_files_min=3,
    retry_backoff_ms_min=50,
    retry_backoff_ms_max=500,
    snapshot_age_ms_max=1_000,
    snapshot_expiry_commits=2,
    table_sweep_interval_ms=3_000,
    audit_interval_ms=4_000,
)
"""Small limits, so that there is always work. Snapshots expire fast too: a compactor that resumes after a
long stall finds no trace of the commits that another one made in its place."""


class CompactorProcess:
    """One compactor process. A crash leaves nothing but its name."""

    def __init__(
        self,
        name: str,
        seed: int,
        stores: TableStores,
        settings: LogSettings,
        domains: int,
        *,
        history: History,
        counts: Counts,
        rest_s: float = 0.15,
    ) -> None:
        self.node = Node(name)
        self._seed = seed
        self._stores = stores
        self._settings = settings
        self._domains = domains
        self._history = history
        self._counts = counts
        self._rest_s = rest_s
        self._random = Random(f"{seed} {name}")

    def boot(self) -> None:
        if not self.node.alive:
            self.node.restart()
        self.node.start(self._main(), name=f"{self.node.name}-main")

    def crash(self) -> None:
        self.node.crash()

    async def _main(self) -> None:
        stores = self._stores.open(self.node, self._seed, self._random.randint(-50, 50))
        topics = TopicCatalog(stores.meta, stores.clock)
        await topics.start(stores.tasks)
        compactor = self._compactor(stores, topics)
        while True:
            try:
                await self._run_pass(compactor)
            except (MetaError, TablesError) as error:
                self._history.note(f"{self.node.name}: {error}")
            await stores.clock.sleep(self._random.uniform(0, 2 * self._rest_s))

    async def _run_pass(self, compactor: Compactor) -> None:
        async for result in compactor.run_pass():
            self._counts.jobs_lost += "another compactor" in result.failure
            for failure in filter(None, [result.failure, *result.report.failures]):
                self._history.note(f"{self.node.name}: {result.topic}: {failure}")

    def _compactor(self, stores: OpenStores, topics: TopicCatalog) -> Compactor:
        tables = self._stores.tables(stores.entropy)
        deps = self._deps(stores, tables)
        leases = Leases(stores.meta, f"{self.node.name}-{self.node.incarnation.number}", _LEASE_MS)
        detacher = Detacher(
            stores.meta,
            self._domains,
            tables,
            clock=stores.clock,
            entropy=stores.entropy,
            settings=self._settings,
        )
        metrics = CompactionMetrics.on(Metrics())
        maintenance_deps = MaintenanceDeps(deps, topics, detacher, self._domains, metrics, _call_inline)
        return Compactor(
            deps, topics, leases, maintenance=TableMaintenance(maintenance_deps), metrics=metrics
        )

    def _deps(self, stores: OpenStores, tables: Tables) -> CompactionDeps:
        jobs = JobStore(stores.meta, self._domains)
        swappers = [self._swapper(stores, MetaDomain(number)) for number in range(self._domains)]
        return CompactionDeps(
            meta=stores.meta,
            jobs=jobs,
            objects=stores.objects,
            tables=tables,
            publisher=Publisher(jobs, tables, stores.objects, stores.clock, swappers),
            run_tasks=InProcessEngine(stores.objects, stores.entropy, self._stores.damage).run_tasks,
            clock=stores.clock,
            entropy=stores.entropy,
            settings=COMPACTION,
            log_settings=self._settings,
        )

    def _swapper(self, stores: OpenStores, domain: MetaDomain) -> Swapper:
        return Swapper(stores.meta, domain, stores.clock, self._settings)


async def _call_inline(call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function that the real compactor runs in a thread."""
    return call(*args, **kwargs)
