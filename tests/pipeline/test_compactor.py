"""A compactor goes round the topics, shares them with others, and clears up after topics that are gone."""

from dray.cluster.topics import Streams, Topics
from dray.log.swap import Swapper
from dray.objects.memory import MemoryObjects
from dray.pipeline.compactor import Compactor, Turn
from dray.pipeline.detach import Detacher
from dray.pipeline.job_store import JobStore
from dray.pipeline.leases import Leases
from dray.pipeline.publish import Publisher
from dray.pipeline.rounds import RoundParts
from dray.runtime import SeededEntropy, Tasks
from dray.tables.memory import MemoryTables, ScriptedFaults
from dray.tables.memory.faults import Faults
from tests.log.builders import DOMAIN, STORE_DOMAIN, OpenLog, Rig, simulated
from tests.pipeline.rounds import EAGER, NO_GRACE, Compaction


class Round:
    """A log, its topics, and compactors beside it."""

    def __init__(self, rig: Rig, opened: OpenLog, topics: Topics) -> None:
        self.rig = rig
        self.opened = opened
        self.topics = topics
        self.compaction = Compaction(rig)

    def compactor(self, name: str = "a", faults: Faults | None = None) -> tuple[Compactor, Leases]:
        meta, clock, entropy = self.rig.meta, self.rig.clock, SeededEntropy(name)
        tables = MemoryTables(self.compaction.catalog, faults)
        jobs = JobStore(meta, 1)
        swapper = Swapper(meta, STORE_DOMAIN, DOMAIN, clock, NO_GRACE)
        publisher = Publisher(jobs, tables, MemoryObjects(self.rig.bucket), clock, [swapper])
        parts = RoundParts(
            meta, jobs, tables, publisher, self.compaction.rewrite, clock, entropy, EAGER, NO_GRACE
        )
        leases = Leases(meta, name, 10_000)
        return Compactor(parts, self.topics, leases, Detacher(meta, 1, tables, entropy)), leases

    async def turn(self, name: str = "a", faults: Faults | None = None) -> list[Turn]:
        compactor, leases = self.compactor(name, faults)
        turns = [turn async for turn in compactor.turn()]
        await leases.close()
        return turns

    async def write(self, topic: str, count: int = 2) -> None:
        found = self.topics.find(topic)
        assert found is not None
        for number in range(count):
            await self.opened.append(f"{topic}{number}", found.streams[0])


async def _round(rig: Rig, *names: str) -> Round:
    opened = await rig.open()
    streams = Streams(opened.log.create_stream, opened.log.condemn_stream, opened.log.delete_stream)
    topics = Topics(rig.meta, streams, rig.clock, SeededEntropy("topics"))
    await topics.start(Tasks())
    made = Round(rig, opened, topics)
    for name in names:
        await topics.create(name, 1, {})
        await made.write(name)
    return made


@simulated
async def test_every_topic_gets_its_table(rig: Rig) -> None:
    made = await _round(rig, "one", "two")
    turns = await made.turn()
    assert [(turn.topic, turn.report.records, turn.failure) for turn in turns] == [
        ("one", 2, ""),
        ("two", 2, ""),
    ]
    tables = await MemoryTables(made.compaction.catalog).list_tables()
    assert sorted(table.topic for table in tables) == ["one", "two"]


@simulated
async def test_a_topic_that_another_compactor_has_is_left_to_it(rig: Rig) -> None:
    made = await _round(rig, "one", "two")
    one = made.topics.find("one")
    assert one is not None
    theirs = Leases(rig.meta, "other", 10_000)
    assert await theirs.take(one.topic_id)
    assert [turn.topic for turn in await made.turn()] == ["two"]
    await theirs.release(one.topic_id)
    assert [turn.topic for turn in await made.turn()] == ["one", "two"]


@simulated
async def test_what_fails_for_one_topic_is_told_and_the_others_go_on(rig: Rig) -> None:
    made = await _round(rig, "one", "two")
    turns = await made.turn(faults=ScriptedFaults("append", ["refuse"]))
    assert [bool(turn.failure) for turn in turns] == [True, False]
    assert [turn.failure for turn in await made.turn("b")] == ["", ""]


@simulated
async def test_the_table_of_a_deleted_topic_goes_and_its_files_after_it(rig: Rig) -> None:
    made = await _round(rig, "one")
    await made.turn()
    one = made.topics.find("one")
    assert one is not None
    await made.topics.delete("one", one.topic_id)
    await made.topics.finish_deletions()
    await rig.settle()
    await made.turn("b")
    assert await MemoryTables(made.compaction.catalog).list_tables() == ()
    assert [marker.in_table for marker in await rig.marks()] == [False]


@simulated
async def test_a_table_of_a_topic_not_heard_of_yet_is_not_dropped(rig: Rig) -> None:
    made = await _round(rig, "one")
    await made.turn()
    deaf = Topics(rig.meta, Streams(_nothing, _nothing, _nothing), rig.clock, SeededEntropy("deaf"))
    made.topics = deaf
    await made.turn("b")
    (table,) = await MemoryTables(made.compaction.catalog).list_tables()
    assert table.topic == "one"


async def _nothing(_: object) -> None:
    return None
