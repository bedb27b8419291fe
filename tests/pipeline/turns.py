"""A log, its topics, and compactors beside it that look after everything, on memory stores."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from dray.cluster.topics import Streams, Topic, Topics
from dray.ids import StreamId
from dray.index import ParquetEntry
from dray.log.swap import Swapper
from dray.meta.memory import MemoryMetaStore
from dray.objects.memory import MemoryObjects
from dray.observe import Metrics
from dray.pipeline.care.care import Care, CareParts
from dray.pipeline.care.detach import Detacher
from dray.pipeline.compactor import Compactor, Turn
from dray.pipeline.job_store import JobStore
from dray.pipeline.leases import Leases
from dray.pipeline.metrics import CompactionMetrics
from dray.pipeline.parts import CompactionParts
from dray.pipeline.publish import Publisher
from dray.pipeline.settings import CompactionSettings
from dray.runtime import SeededEntropy, Tasks
from dray.tables.memory import MemoryTables
from dray.tables.memory.faults import Faults
from dray.tables.port import TopicTable
from dray.testing.faulty_link import FaultyLink, FaultyLinkSettings
from tests.log.builders import DOMAIN, STORE_DOMAIN, OpenLog, Rig
from tests.pipeline.rounds import EAGER, NO_GRACE, Compaction

_TRAVEL = FaultyLinkSettings(refused=0, request_lost=0, answer_lost=0, late=0)
P = ParamSpec("P")
T = TypeVar("T")


async def at_once(call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    return call(*args, **kwargs)


def travelling_meta(rig: Rig, entropy: SeededEntropy) -> MemoryMetaStore:
    """Return a client whose requests and answers take their time."""
    return MemoryMetaStore(rig.server, FaultyLink(entropy, _TRAVEL), rig.clock, entropy, tasks=Tasks())


class Turns:
    """What a test of a compactor needs."""

    def __init__(self, rig: Rig, opened: OpenLog, topics: Topics) -> None:
        self.rig = rig
        self.opened = opened
        self.topics = topics
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
        travelling: bool = False,
    ) -> tuple[Compactor, Leases]:
        """Make a compactor, as a process of its own; one that is travelling can die at each request."""
        clock, entropy = self.rig.clock, SeededEntropy(name)
        meta = travelling_meta(self.rig, entropy) if travelling else self.rig.meta
        objects = MemoryObjects(self.rig.bucket)
        tables = MemoryTables(self.catalog, faults, clock, 0.01 if travelling else 0.0)
        jobs = JobStore(meta, 1)
        swapper = Swapper(meta, STORE_DOMAIN, DOMAIN, clock, NO_GRACE)
        publisher = Publisher(jobs, tables, objects, clock, [swapper])
        parts = CompactionParts(
            meta,
            jobs,
            objects,
            tables,
            publisher,
            self.compaction.perform,
            clock,
            entropy,
            settings,
            NO_GRACE,
        )
        leases = Leases(meta, name, 10_000)
        detacher = Detacher(meta, 1, tables, clock=clock, entropy=entropy, settings=NO_GRACE)
        care = Care(CareParts(parts, self.topics, detacher, 1, self._counted, at_once))
        made = Compactor(parts, self.topics, leases, detacher, care=care, metrics=self._counted)
        return made, leases

    async def turn(
        self, name: str = "a", faults: Faults | None = None, settings: CompactionSettings = EAGER
    ) -> list[Turn]:
        """Take one turn. A compactor of the same name goes on; a new name is a new process."""
        if name not in self._compactors:
            self._compactors[name] = self.compactor(name, faults, settings)
        compactor, leases = self._compactors[name]
        turns = [turn async for turn in compactor.turn()]
        await leases.close()
        return turns

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
        """The offsets of the files that the table has."""
        files = self.catalog.current(self.table(topic)).files
        return sorted((file.first_offset, file.last_offset) for file in files)

    async def files(self, topic: str, partition: int = 0) -> list[ParquetEntry]:
        entries = await self.rig.entries(self.stream(topic, partition))
        return [entry for entry in entries if isinstance(entry, ParquetEntry)]

    def counted(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"dray_compaction_{name}", labels) or 0.0


async def turns_over(rig: Rig, *names: str, partitions: int = 1) -> Turns:
    """Make topics with two records each, and nothing compacted yet."""
    opened = await rig.open()
    streams = Streams(opened.log.create_stream, opened.log.condemn_stream, opened.log.delete_stream)
    topics = Topics(rig.meta, streams, rig.clock, SeededEntropy("topics"))
    await topics.start(Tasks())
    made = Turns(rig, opened, topics)
    for name in names:
        await topics.create(name, partitions, {})
        for partition in range(partitions):
            await made.write(name, partition=partition)
    return made
