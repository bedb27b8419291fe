"""Compaction rounds on memory stores, with the work of Spark done on the spot."""

import io
from collections.abc import Sequence

from typing_extensions import Buffer

from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.log.settings import LogSettings
from dray.log.swap import Swapper
from dray.meta.memory import MemoryMetaStore
from dray.meta.port import MetaStore
from dray.objects.memory import MemoryObjects
from dray.objects.port import ByteRange
from dray.pipeline.engine import TaskFailed
from dray.pipeline.job_store import JobStore
from dray.pipeline.parts import CompactionParts
from dray.pipeline.publish import Publisher
from dray.pipeline.report import RoundReport
from dray.pipeline.rewrite import SpanTask
from dray.pipeline.rounds import TopicRound
from dray.pipeline.settings import CompactionSettings
from dray.pipeline.topic_tables import table_of
from dray.pipeline.work import Answer, Task, perform
from dray.runtime import SeededEntropy, Tasks
from dray.tables.memory import MemoryCatalog, MemoryTables
from dray.tables.memory.faults import Faults
from dray.testing.faulty_link import FaultyLink, FaultyLinkSettings
from tests.log.builders import DOMAIN, ONE, STORE_DOMAIN, TWO, Rig
from tests.log.compacting import TOPIC, read_from

_TRAVEL = FaultyLinkSettings(refused=0, request_lost=0, answer_lost=0, late=0)
STREAMS: tuple[StreamId, ...] = (ONE, TWO)
EAGER = CompactionSettings(wal_age_ms_max=0, merge_files_min=3)
UNMERGED = CompactionSettings(wal_age_ms_max=0, merge_files_min=100)
NO_GRACE = LogSettings(wal_gc_grace_ms=0, file_gc_grace_ms=0)


class Compaction:
    """The catalogue, and compactors that share it with a rig's stores."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.catalog = MemoryCatalog(rig.clock)
        self.topic = Topic(TOPIC.name, TOPIC.topic_id, STREAMS, {}, 0)
        self.bad: dict[StreamId, str] = {}
        """Streams whose files cannot be written, and why."""
        self.unclean: set[StreamId] = set()
        """Streams that cannot be cleaned."""

    def round(
        self,
        name: str = "a",
        *,
        settings: CompactionSettings = EAGER,
        faults: Faults | None = None,
        travelling: bool = False,
    ) -> TopicRound:
        """Make a round of one compactor; one that is travelling can die before and after each request."""
        clock, entropy = self.rig.clock, SeededEntropy(name)
        meta: MetaStore = self.rig.meta
        if travelling:
            meta = MemoryMetaStore(
                self.rig.server, FaultyLink(entropy, _TRAVEL), clock, entropy, tasks=Tasks()
            )
        tables = MemoryTables(self.catalog, faults, clock, 0.01 if travelling else 0.0)
        jobs = JobStore(meta, 1)
        swapper = Swapper(meta, STORE_DOMAIN, DOMAIN, clock, NO_GRACE)
        objects = MemoryObjects(self.rig.bucket)
        publisher = Publisher(jobs, tables, objects, clock, [swapper])
        parts = CompactionParts(
            meta, jobs, objects, tables, publisher, self.perform, clock, entropy, settings, NO_GRACE
        )
        return TopicRound(parts, self.topic)

    async def run(self, name: str = "a", **how: object) -> RoundReport:
        return await self.round(name, **how).run()  # type: ignore[arg-type]

    async def perform(self, tasks: Sequence[Task]) -> list[Answer | TaskFailed]:
        """Do what Spark would do."""
        return [await self._answer(task) for task in tasks]

    async def _answer(self, task: Task) -> Answer | TaskFailed:
        await self.rig.clock.sleep(0.01)
        if task.stream in self.bad:
            return TaskFailed(self.bad[task.stream])
        if task.stream in self.unclean and not isinstance(task, SpanTask):
            return TaskFailed("a file is damaged")
        output = io.BytesIO()
        answer = self._done(task, output)
        if output.getvalue():
            self.rig.bucket.put_new(task.path, [output.getvalue()])
        return answer

    def _done(self, task: Task, output: io.BytesIO) -> Answer:
        return perform(task, self._read, output)

    def _read(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        return read_from(self.rig, path, ranges)

    def table(self) -> dict[int, list[tuple[int, int]]]:
        """The ranges of offsets in the table, by partition."""
        found: dict[int, list[tuple[int, int]]] = {}
        for file in self.catalog.current(table_of(TOPIC)).files:
            assert file.partition is not None
            assert file.first_offset is not None
            assert file.last_offset is not None
            found.setdefault(file.partition, []).append((file.first_offset, file.last_offset))
        return {partition: sorted(ranges) for partition, ranges in found.items()}
