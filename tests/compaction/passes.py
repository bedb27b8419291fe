"""Compactor passes on in-memory stores: a log with topics, and compactors with table maintenance."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from dray.cluster.topic_admin import TopicAdmin
from dray.cluster.topics import Topic, TopicCatalog
from dray.compaction.compactor import Compactor, TopicResult
from dray.compaction.deps import CompactionDeps
from dray.compaction.job_store import JobStore
from dray.compaction.leases import Leases
from dray.compaction.metrics import CompactionMetrics
from dray.compaction.publish import Publisher
from dray.compaction.settings import CompactionSettings
from dray.ids import StreamId
from dray.index import ParquetEntry
from dray.log.swap import Swapper
from dray.maintenance.detach import Detacher
from dray.maintenance.maintenance import MaintenanceDeps, TableMaintenance
from dray.meta.memory import MemoryMetaStore
from dray.objects.memory import MemoryObjects
from dray.observe import Metrics
from dray.runtime import Tasks
from dray.tables.port import TopicTable
from dray.testing.entropy import SeededEntropy
from dray.testing.faulty_link import FaultyLink, FaultyLinkSettings
from dray.testing.memory_tables import MemoryTables
from dray.testing.memory_tables.faults import Faults
from tests.compaction.rounds import EAGER, NO_GRACE, Compaction
from tests.log.builders import DOMAIN, OpenLog, Rig

_TRAVEL = FaultyLinkSettings(refused=0, request_lost=0, answer_lost=0, late=0)
P = ParamSpec("P")
T = TypeVar("T")


async def at_once(call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    return call(*args, **kwargs)


def slow_meta(rig: Rig, entropy: SeededEntropy) -> MemoryMetaStore:
    """Return a client whose requests and responses take time."""
    return MemoryMetaStore(rig.server, rig.clock, entropy, tasks=Tasks(), link=FaultyLink(entropy, _TRAVEL))


class CompactorRig:
    """A log with topics, a catalog, and compactors by name."""

    def __init__(self, rig: Rig, opened: OpenLog, topics: TopicCatalog, admin: TopicAdmin) -> None:
        self.rig = rig
        self.opened = opened
        self.topics = topics
        self.topic_admin = admin
        self.compaction = Compaction(rig)
        self.catalog = self.compaction.catalog
        self.metrics = Metrics()
        self._counted = CompactionMetrics.on(self.metrics)
        self._compactors: dict[str, tuple[Compactor, Leases]] = {}

    def compactor(
        self,
        name: str = "a",
        faults: Faults | None = None,
        settings: CompactionSettings = EAGER,
        *,
        slow_stores: bool = False,
    ) -> tuple[Compactor, Leases]:
        """Return a compactor in a process of its own; with slow stores, it can crash at each request."""
        clock, entropy = self.rig.clock, SeededEntropy(name)
        meta = slow_meta(self.rig, entropy) if slow_stores else self.rig.meta
        objects = MemoryObjects(self.rig.bucket)
        tables = MemoryTables(self.catalog, faults, clock, 0.01 if slow_stores else 0.0)
        jobs = JobStore(meta, 1)
        swapper = Swapper(meta, DOMAIN, clock, NO_GRACE)
        publisher = Publisher(jobs, tables, objects, clock, [swapper])
        parts = CompactionDeps(
            meta,
            jobs,
            objects,
            tables,
            publisher,
            self.compaction.run_tasks,
            clock,
            entropy,
            settings,
            NO_GRACE,
        )
        leases = Leases(meta, name, 10_000)
        detacher = Detacher(meta, 1, tables, clock=clock, entropy=entropy, settings=NO_GRACE)
        maintenance = TableMaintenance(
            MaintenanceDeps(parts, self.topics, detacher, 1, self._counted, at_once)
        )
        made = Compactor(parts, self.topics, leases, maintenance=maintenance, metrics=self._counted)
        return made, leases

    async def run_pass(
        self, name: str = "a", faults: Faults | None = None, settings: CompactionSettings = EAGER
    ) -> list[TopicResult]:
        """Run one pass. The same name continues with the same compactor; a new name is a new process."""
        if name not in self._compactors:
            self._compactors[name] = self.compactor(name, faults, settings)
        compactor, leases = self._compactors[name]
        results = [result async for result in compactor.run_pass()]
        await leases.close()
        return results

    async def write(self, topic: str, count: int = 2, partition: int = 0) -> None:
        for number in range(count):
            await self.opened.append(f"{topic}{number}", self.found(topic).streams[partition])

    def found(self, topic: str) -> Topic:
        found = self.topics.find(topic)
        assert found is not None
        return found

    def stream(self, topic: str, partition: int = 0) -> StreamId:
        return self.found(topic).streams[partition]

    def table(self, topic: str) -> TopicTable:
        return TopicTable(topic, self.found(topic).topic_id.hex())

    def ranges(self, topic: str) -> list[tuple[int | None, int | None]]:
        """Return the offset ranges of the table's files."""
        files = self.catalog.current(self.table(topic)).files
        return sorted((file.first_offset, file.last_offset) for file in files)

    async def files(self, topic: str, partition: int = 0) -> list[ParquetEntry]:
        entries = await self.rig.entries(self.stream(topic, partition))
        return [entry for entry in entries if isinstance(entry, ParquetEntry)]

    def counted(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"dray_compaction_{name}", labels) or 0.0


async def compactor_rig(rig: Rig, *names: str, partitions: int = 1) -> CompactorRig:
    """Create topics with two records each, none of them compacted."""
    opened = await rig.open()
    topics = TopicCatalog(rig.meta, rig.clock)
    await topics.start(Tasks())
    admin = TopicAdmin(topics, rig.meta, opened.log, rig.clock, SeededEntropy("topics"))
    made = CompactorRig(rig, opened, topics, admin)
    for name in names:
        await admin.create(name, partitions, {})
        for partition in range(partitions):
            await made.write(name, partition=partition)
    return made


def maintenance_of(compactor: Compactor) -> TableMaintenance:
    """Return the table maintenance of a compactor."""
    maintenance = compactor._maintenance
    assert isinstance(maintenance, TableMaintenance)
    return maintenance
