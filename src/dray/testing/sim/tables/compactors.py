"""Simulated compactors: the real one on faulty stores, in a process that may die or stall at every step."""

from collections.abc import Callable
from random import Random
from typing import ParamSpec, TypeVar

from dray.cluster.topics import Streams, Topics
from dray.ids import MetaDomain, StreamId
from dray.index import domain_name
from dray.log import LogSettings
from dray.log.swap import Swapper
from dray.meta.port import Domain, MetaError
from dray.observe import Metrics
from dray.pipeline.care.care import Care, CareParts
from dray.pipeline.care.detach import Detacher
from dray.pipeline.compactor import Compactor
from dray.pipeline.job_store import JobStore
from dray.pipeline.leases import Leases
from dray.pipeline.metrics import CompactionMetrics
from dray.pipeline.parts import CompactionParts
from dray.pipeline.publish import Publisher
from dray.pipeline.settings import CompactionSettings
from dray.tables.port import Tables, TablesError
from dray.testing.nodes import Node
from dray.testing.sim.brokers import Opened
from dray.testing.sim.history import History
from dray.testing.sim.tables.brokers import TableStores
from dray.testing.sim.tables.engine import Engine
from dray.testing.sim.tables.onlooker import Counts

P = ParamSpec("P")
T = TypeVar("T")
_LEASE_MS = 600

COMPACTION = CompactionSettings(
    wal_age_ms_max=300,
    wal_bytes_max=1_500,
    wal_entries_max=2,
    file_bytes=60_000,
    entries_per_file_max=3,
    merge_files_min=3,
    retry_ms_min=50,
    retry_ms_max=500,
    snapshot_age_ms_max=1_000,
    expire_commits=2,
    table_sweep_interval_ms=3_000,
    audit_interval_ms=4_000,
)
"""Everything small, so that there is always something to do. Also snapshots: a compactor that comes back from
a longer stall finds no trace of what others have done in its place."""


class CompactorProcess:
    """One process. Everything but its name is gone when it crashes."""

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
        opened = self._stores.opened_by(self.node, self._seed, self._random.randint(-50, 50))
        topics = Topics(opened.meta, Streams(_never, _never, _never), opened.clock, opened.entropy)
        await topics.start(opened.tasks)
        compactor = self._compactor(opened, topics)
        while True:
            try:
                await self._turn(compactor)
            except (MetaError, TablesError) as error:
                self._history.note(f"{self.node.name}: {error}")
            await opened.clock.sleep(self._random.uniform(0, 2 * self._rest_s))

    async def _turn(self, compactor: Compactor) -> None:
        async for turn in compactor.turn():
            self._counts.jobs_lost += "another compactor" in turn.failure
            for failure in filter(None, [turn.failure, *turn.report.failures]):
                self._history.note(f"{self.node.name}: {turn.topic}: {failure}")

    def _compactor(self, opened: Opened, topics: Topics) -> Compactor:
        tables = self._stores.tables(opened.entropy)
        parts = self._parts(opened, tables)
        leases = Leases(opened.meta, f"{self.node.name}-{self.node.life.number}", _LEASE_MS)
        detacher = Detacher(
            opened.meta,
            self._domains,
            tables,
            clock=opened.clock,
            entropy=opened.entropy,
            settings=self._settings,
        )
        metrics = CompactionMetrics.on(Metrics())
        cared = CareParts(parts, topics, detacher, self._domains, metrics, _at_once)
        return Compactor(parts, topics, leases, detacher, care=Care(cared), metrics=metrics)

    def _parts(self, opened: Opened, tables: Tables) -> CompactionParts:
        jobs = JobStore(opened.meta, self._domains)
        swappers = [self._swapper(opened, MetaDomain(number)) for number in range(self._domains)]
        return CompactionParts(
            meta=opened.meta,
            jobs=jobs,
            objects=opened.objects,
            tables=tables,
            publisher=Publisher(jobs, tables, opened.objects, opened.clock, swappers),
            perform=Engine(opened.objects, opened.entropy).perform,
            clock=opened.clock,
            entropy=opened.entropy,
            settings=COMPACTION,
            log_settings=self._settings,
        )

    def _swapper(self, opened: Opened, domain: MetaDomain) -> Swapper:
        return Swapper(opened.meta, Domain(domain_name(domain)), domain, opened.clock, self._settings)


async def _at_once(call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """There are no threads here."""
    return call(*args, **kwargs)


async def _never(stream: StreamId) -> None:
    raise AssertionError(f"a compactor neither makes nor deletes stream {stream:016x}")
