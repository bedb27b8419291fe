"""Compaction rounds on in-memory stores, with tasks executed in the test process."""

import io
from collections.abc import Sequence

from typing_extensions import Buffer

from dray.cluster.topics import Topic
from dray.compaction.deps import CompactionDeps
from dray.compaction.engine import TaskFailure
from dray.compaction.job_store import JobStore
from dray.compaction.publish import Publisher
from dray.compaction.report import RoundReport
from dray.compaction.rewrite import RewriteTask
from dray.compaction.rounds import TopicRound
from dray.compaction.settings import CompactionSettings
from dray.compaction.tasks import Task, TaskOutput, execute, has_output
from dray.compaction.topic_tables import table_of
from dray.ids import StreamId
from dray.log.settings import LogSettings
from dray.log.swap import Swapper
from dray.meta.memory import MemoryMetaStore
from dray.meta.port import MetaStore
from dray.objects.memory import MemoryObjects
from dray.objects.port import ByteRange, StoreUnusable
from dray.runtime import Tasks
from dray.testing.entropy import SeededEntropy
from dray.testing.faulty_link import FaultyLink, FaultyLinkSettings
from dray.testing.memory_tables import MemoryCatalog, MemoryTables
from dray.testing.memory_tables.faults import Faults
from tests.log.builders import DOMAIN, ONE, TWO, Rig
from tests.log.compacting import TOPIC

_TRAVEL = FaultyLinkSettings(refused=0, request_lost=0, answer_lost=0, late=0)
STREAMS: tuple[StreamId, ...] = (ONE, TWO)
EAGER = CompactionSettings(wal_age_ms_max=0, merge_files_min=3)
UNMERGED = CompactionSettings(wal_age_ms_max=0, merge_files_min=100)
NO_GRACE = LogSettings(wal_gc_grace_ms=0, file_gc_grace_ms=0)


class Compaction:
    """A catalog, and compactors that use it with the stores of a rig."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.catalog = MemoryCatalog(rig.clock)
        self.topic = Topic(TOPIC.name, TOPIC.topic_id, STREAMS, {}, 0)
        self.bad: dict[StreamId, str] = {}
        """Streams whose tasks fail, and the reason."""
        self.unfilterable: set[StreamId] = set()
        """Streams whose key compaction tasks fail."""
        self.forbidden: set[str] = set()
        """Paths whose read fails as if the store were unusable."""

    def round(
        self,
        name: str = "a",
        *,
        settings: CompactionSettings = EAGER,
        faults: Faults | None = None,
        slow_stores: bool = False,
    ) -> TopicRound:
        """Return a round of one compactor; with slow stores, it can crash before and after each request."""
        clock, entropy = self.rig.clock, SeededEntropy(name)
        meta: MetaStore = self.rig.meta
        if slow_stores:
            meta = MemoryMetaStore(
                self.rig.server, clock, entropy, tasks=Tasks(), link=FaultyLink(entropy, _TRAVEL)
            )
        tables = MemoryTables(self.catalog, faults, clock, 0.01 if slow_stores else 0.0)
        jobs = JobStore(meta, 1)
        swapper = Swapper(meta, DOMAIN, clock, NO_GRACE)
        objects = MemoryObjects(self.rig.bucket)
        publisher = Publisher(jobs, tables, objects, clock, [swapper])
        deps = CompactionDeps(
            meta, jobs, objects, tables, publisher, self.run_tasks, clock, entropy, settings, NO_GRACE
        )
        return TopicRound(deps, self.topic)

    async def run(self, name: str = "a", **how: object) -> RoundReport:
        return await self.round(name, **how).run()  # type: ignore[arg-type]

    async def run_tasks(self, tasks: Sequence[Task]) -> list[TaskOutput | TaskFailure]:
        """Execute tasks as Spark would."""
        return [await self._run_task(task) for task in tasks]

    async def _run_task(self, task: Task) -> TaskOutput | TaskFailure:
        await self.rig.clock.sleep(0.01)
        if task.stream in self.bad:
            return TaskFailure(self.bad[task.stream])
        if task.stream in self.unfilterable and not isinstance(task, RewriteTask):
            return TaskFailure("a file is damaged")
        output = io.BytesIO()
        result = self._execute(task, output)
        if has_output(result):
            self.rig.bucket.put_new(task.path, [output.getvalue()])
        return result

    def _execute(self, task: Task, output: io.BytesIO) -> TaskOutput:
        return execute(task, self._read, output)

    def _read(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        if path in self.forbidden:
            raise StoreUnusable(f"{path}: Input/output error")
        return self.rig.bucket.get_ranges(path, ranges)

    def table(self) -> dict[int, list[tuple[int, int]]]:
        """Return the offset ranges in the table, by partition."""
        found: dict[int, list[tuple[int, int]]] = {}
        for file in self.catalog.current(table_of(TOPIC)).files:
            assert file.partition is not None
            assert file.first_offset is not None
            assert file.last_offset is not None
            found.setdefault(file.partition, []).append((file.first_offset, file.last_offset))
        return {partition: sorted(ranges) for partition, ranges in found.items()}
