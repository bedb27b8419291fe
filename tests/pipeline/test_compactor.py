"""A compactor goes round the topics, shares them with others, and clears up after topics that are gone."""

from collections.abc import Sequence

import pytest

from dray.cluster.topics import Streams, Topics
from dray.ids import StreamId
from dray.index import IndexEntry, StreamHead, WalEntry, file_gc_range, job_key
from dray.log.missing import missing_range
from dray.meta.port import Put
from dray.pipeline import next_spans
from dray.pipeline.clean.rounds import TopicCleaning
from dray.pipeline.compactor import Turn
from dray.pipeline.engine import EngineFailed, TaskFailed
from dray.pipeline.job_store import JobLost, JobStore, StoredJob
from dray.pipeline.leases import Leases
from dray.pipeline.parts import CompactionParts
from dray.pipeline.report import RoundReport
from dray.pipeline.streams import read_stream
from dray.pipeline.troubles import known_trouble
from dray.pipeline.work import Answer, Task
from dray.runtime import SeededEntropy
from dray.tables.memory import MemoryTables, ScriptedFaults
from dray.tables.port import Unavailable
from tests.log.builders import DOMAIN, STORE_DOMAIN, Rig, simulated
from tests.log.compacting import records
from tests.pipeline.cleaning import write
from tests.pipeline.rounds import EAGER
from tests.pipeline.turns import turns_over


@simulated
async def test_every_topic_gets_its_table(rig: Rig) -> None:
    made = await turns_over(rig, "one", "two")
    turns = await made.turn()
    assert [(turn.topic, turn.report.records, turn.failure) for turn in turns] == [
        ("one", 2, ""),
        ("two", 2, ""),
    ]
    tables = (await MemoryTables(made.catalog).listing()).tables
    assert sorted(table.topic for table in tables) == ["one", "two"]


@simulated
async def test_a_topic_that_another_compactor_has_is_left_to_it(rig: Rig) -> None:
    made = await turns_over(rig, "one", "two")
    one = made.found("one")
    theirs = Leases(rig.meta, "other", 10_000)
    assert await theirs.take(one.topic_id)
    assert [(turn.topic, turn.left_to_others) for turn in await made.turn()] == [
        ("one", True),
        ("two", False),
    ]
    await theirs.release(one.topic_id)
    assert [turn.topic for turn in await made.turn()] == ["one", "two"]


@simulated
async def test_a_job_that_another_compactor_took_is_no_failure(rig: Rig) -> None:
    made = await turns_over(rig, "one")

    async def taken(_: JobStore, stored: StoredJob) -> None:
        raise JobLost(f"the job of stream {stored.stream} is another's")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JobStore, "confirm", taken)
        (turn,) = await made.turn()
    assert (turn.left_to_others, turn.failure) == (True, "")
    (again,) = await made.turn()
    assert (again.left_to_others, again.report.records) == (False, 2), (
        "it does not wait before it tries again"
    )


@simulated
async def test_what_fails_for_one_topic_is_told_and_the_others_go_on(rig: Rig) -> None:
    made = await turns_over(rig, "one", "two")
    turns = await made.turn(faults=ScriptedFaults("append", ["refuse"]))
    assert [bool(turn.failure) for turn in turns] == [True, False]
    assert [turn.failure for turn in await made.turn("b")] == ["", ""]


@simulated
async def test_one_who_writes_no_files_is_asked_once_a_turn_and_holds_up_nothing_else(rig: Rig) -> None:
    made = await turns_over(rig, "one", "two", "written")
    await made.turn(faults=ScriptedFaults("append", [None, None, "refuse"]))
    for topic in ("one", "two"):
        await made.write(topic)
    await made.opened.log.trim(made.stream("two"), 2)
    asked: list[Task] = []

    async def fail(tasks: Sequence[Task]) -> list[Answer | TaskFailed]:
        asked.extend(tasks)
        raise EngineFailed("nobody is there")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made.compaction, "perform", fail)
        compactor, leases = made.compactor("b")
        told: list[Turn] = []

        async def turn() -> None:
            async for done in compactor.turn():
                told.append(done)  # noqa: PERF401 - it raises at its end

        with pytest.raises(EngineFailed, match="nobody is there"):
            await turn()
        await leases.close()
    assert [(done.topic, done.failure) for done in told] == [
        ("one", "nobody is there"),
        ("two", ""),
        ("written", ""),
    ]
    assert [(done.detached, done.report.records) for done in told] == [(0, 0), (1, 0), (0, 2)]
    assert {task.stream for task in asked} == {made.stream("one")}
    assert (made.ranges("two"), made.ranges("written")) == ([], [(0, 1)])
    trouble = await known_trouble(rig.meta, made.found("two").topic_id)
    assert trouble is not None
    assert trouble.why == "nobody is there"
    assert [turn.report.records for turn in await made.turn("c")] == [2, 2, 0]


@simulated
async def test_a_topic_that_is_made_again_gets_its_table_in_the_next_turn(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn()
    old = made.table("one")
    await made.topics.delete("one", made.found("one").topic_id)
    await made.topics.create("one", 1, {})
    await made.write("one")
    (turn,) = await made.turn()
    assert (turn.failure, turn.report.records) == ("", 2)
    assert made.table("one") != old
    assert made.counted("failures_total", what="topic") == 0


@simulated
async def test_a_topic_that_fails_is_left_alone_for_longer_each_time(rig: Rig) -> None:
    made = await turns_over(rig, "one", "two")
    await made.turn()
    for topic in ("one", "two"):
        await made.write(topic)
    made.catalog.somebody_alters(made.table("one"), "a column is gone")
    tried = []
    for second in range(40):
        turns = await made.turn()
        tried += [second for turn in turns if turn.topic == "one" and turn.failure]
        assert any(turn.topic == "two" and not turn.failure for turn in turns)
        await rig.settle(1)
    assert tried == [0, 5, 15, 35]
    assert made.counted("failures_total", what="topic") == len(tried)
    assert made.ranges("two") == [(0, 1), (2, 3)]
    assert len(await records(made.opened, made.stream("one"))) == 4
    made.catalog.somebody_alters(made.table("one"), None)
    await rig.settle(60)
    await made.turn()
    assert made.ranges("one") == [(0, 1), (2, 3)]


@simulated
async def test_a_partition_that_cannot_be_read_is_told_with_its_place_and_tried_less_and_less(
    rig: Rig,
) -> None:
    made = await turns_over(rig, "one", partitions=2)
    bad = made.stream("one")
    (entry, _) = await rig.wal_entries(bad)
    made.compaction.bad[bad] = "a batch is damaged"
    tried = []
    for second in range(20):
        (turn,) = await made.turn()
        tried += [second] if turn.report.failures else []
        assert turn.failure == ""
        if second == 0:
            (told,) = turn.report.failures
            assert "offsets 0 to 1" in told
            assert entry.path in told
            assert "a batch is damaged" in told
        await rig.settle(1)
    assert tried == [0, 5, 15]
    assert made.counted("failures_total", what="partition") == len(tried)
    assert all(isinstance(one, WalEntry) for one in await rig.entries(bad))
    assert made.ranges("one") == [(0, 1)]
    made.compaction.bad.clear()
    await rig.settle(60)
    await made.turn()
    assert made.ranges("one") == [(0, 1), (0, 1)]


@simulated
async def test_a_partition_that_cannot_be_read_does_not_keep_the_others_from_merging(rig: Rig) -> None:
    made = await turns_over(rig, "one", partitions=2)
    made.compaction.bad[made.stream("one")] = "a batch is damaged"
    await made.turn()
    for _ in range(2):
        await made.write("one", 1, partition=1)
        await rig.settle(1)
        await made.turn()
    assert made.ranges("one") == [(0, 3)]


@simulated
async def test_a_full_disk_leaves_stream_and_table_as_they_are(rig: Rig) -> None:
    made = await turns_over(rig, "one", "two")
    made.compaction.bad[made.stream("one")] = "StoreUnusable: no room for compaction/v1/x.parquet"
    turns = await made.turn()
    assert [len(turn.report.failures) for turn in turns] == [1, 0]
    assert "no room" in turns[0].report.failures[0]
    assert made.ranges("two") == [(0, 1)]
    assert made.ranges("one") == []
    assert len(await records(made.opened, made.stream("one"))) == 2
    made.compaction.bad.clear()
    await rig.settle(10)
    await made.turn()
    assert made.ranges("one") == [(0, 1)]


@simulated
async def test_a_catalogue_that_is_away_is_told_and_no_topic_suffers(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    away = ScriptedFaults("listing", ["refuse"])
    turns = await made.turn(faults=away)
    assert away.spent
    assert [turn.failure for turn in turns] == [""]
    assert made.counted("failures_total", what="catalogue") == 1
    assert made.counted("last_success_seconds") == 0
    assert made.ranges("one") == [(0, 1)]
    await rig.settle(10)
    await made.turn()
    assert made.counted("last_success_seconds") == rig.clock.now_ms() / 1000


@simulated
async def test_a_topic_deleted_while_its_file_is_written_leaves_nothing_behind(rig: Rig) -> None:
    made = await turns_over(rig, "one", "two")
    one = made.found("one")
    real = made.compaction.perform

    async def deleting(tasks: Sequence[Task]) -> list[Answer | TaskFailed]:
        answers = await real(tasks)
        if made.topics.find("one") is not None:
            await made.topics.delete("one", one.topic_id)
            await made.topics.finish_deletions()
        return answers

    made.compaction.perform = deleting  # type: ignore[method-assign]
    turns = await made.turn()
    assert [(turn.topic, turn.failure) for turn in turns] == [("one", ""), ("two", "")]
    await rig.settle()
    await made.turn("b")
    assert [table.topic for table in (await MemoryTables(made.catalog).listing()).tables] == ["two"]
    assert [marker.in_table for marker in await rig.marks()] == [False]


@simulated
async def test_a_file_with_rows_that_others_deleted_is_not_merged(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn()
    for _ in range(4):
        await made.write("one", 1)
        await rig.settle(1)
        await made.turn()
        files = await made.files("one")
        if len(files) == 2:
            made.catalog.somebody_deletes_rows(made.table("one"), files[1].path)
    assert made.ranges("one") == [(0, 1), (2, 2), (3, 5)]
    (turn,) = await made.turn()
    assert (turn.failure, turn.report.files) == ("", 0)
    with pytest.MonkeyPatch.context() as patch:
        looked = watched_reads(patch)
        await made.turn()
        assert looked == []
        await rig.settle(EAGER.audit_interval_ms / 1_000 + 1)  # somebody may have put the rows back
        await made.turn()
        await made.turn()
        assert looked != []


@simulated
async def test_a_file_damaged_before_it_is_in_the_table_is_written_again(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    real = made.compaction.perform

    async def damaging(tasks: Sequence[Task]) -> list[Answer | TaskFailed]:
        answers = await real(tasks)
        whole = bytearray(rig.bucket.get(tasks[0].path))
        whole[-20] ^= 1
        rig.bucket.delete(tasks[0].path)
        rig.bucket.put_new(tasks[0].path, [bytes(whole)])
        return answers

    made.compaction.perform = damaging  # type: ignore[method-assign]
    (turn,) = await made.turn()
    assert turn.failure == ""
    assert "footer should have CRC" in turn.report.failures[0]
    assert made.ranges("one") == []
    made.compaction.perform = real  # type: ignore[method-assign]
    (turn,) = await made.turn("b")
    assert (turn.failure, turn.report.failures) == ("", [])
    assert made.ranges("one") == [(0, 1)]


@simulated
async def test_a_compacted_topic_is_cleaned_and_less_often_when_that_fails(rig: Rig) -> None:
    made = await turns_over(rig, "usual")
    configs = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0"}
    await made.topics.create("keyed", 1, configs)
    for text in ("a1 b1", "a2 a3", "c1"):
        await write(made.opened, text, made.stream("keyed"))
    await rig.settle(1)
    made.compaction.unclean.add(made.stream("keyed"))
    tried = []
    for second in range(20):
        (turn, _) = await made.turn()
        tried += [second] if turn.report.failures else []
        if second == 0:
            (told,) = turn.report.failures
            (file,) = await made.files("keyed")
            assert f"offsets 0 to 4, in {file.path}: a file is damaged" in told
        await rig.settle(1)
    assert tried == [0, 5, 15]
    made.compaction.unclean.clear()
    await rig.settle(60)
    (turn, usual) = await made.turn()
    assert (turn.topic, turn.report.dropped, turn.report.failures) == ("keyed", 2, [])
    assert usual.report.dropped == 0
    fresh = await rig.open("fresh")
    assert [record.offset for record in await records(fresh, made.stream("keyed"))] == [1, 3, 4]


@simulated
async def test_what_failed_in_a_round_is_told_though_the_cleaning_after_it_fails_too(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    made.compaction.bad[made.stream("one")] = "no space left"

    async def failing(_: TopicCleaning) -> RoundReport:
        raise Unavailable("the catalogue is away")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TopicCleaning, "run", failing)
        (turn,) = await made.turn()
    assert turn.failure == "the catalogue is away"
    assert made.counted("failures_total", what="partition") == 1


@simulated
async def test_rounds_are_counted(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await rig.settle(7)
    await made.turn()
    (file,) = await made.files("one")
    assert made.counted("files_total", kind="wal") == 1
    assert made.counted("records_total", kind="wal") == 2
    assert made.counted("read_bytes_total", kind="wal") == file.came_bytes
    assert made.counted("written_bytes_total", kind="wal") == file.size_bytes
    assert made.counted("round_seconds_count") == 1
    assert made.counted("lag_seconds", topic="one") == 0
    made.compaction.bad[made.stream("one")] = "no"
    await made.write("one")
    await rig.settle(7)
    await made.turn()
    assert 7 <= made.counted("lag_seconds", topic="one") < 8


@simulated
async def test_the_table_of_a_deleted_topic_goes_and_its_files_after_it(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn()
    one = made.found("one")
    await made.topics.delete("one", one.topic_id)
    await made.topics.finish_deletions()
    await rig.settle()
    await made.turn("b")
    assert (await MemoryTables(made.catalog).listing()).tables == ()
    assert [marker.in_table for marker in await rig.marks()] == [False]


@simulated
async def test_a_table_of_a_topic_not_heard_of_yet_is_not_dropped(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn()
    deaf = Topics(rig.meta, Streams(_nothing, _nothing, _nothing), rig.clock, SeededEntropy("deaf"))
    made.topics = deaf
    await made.turn("b")
    (table,) = (await MemoryTables(made.catalog).listing()).tables
    assert table.topic == "one"


async def _nothing(_: StreamId) -> None:
    return None


def watched_reads(patch: pytest.MonkeyPatch) -> list[StreamId]:
    """Tell of which streams the entries are read."""
    looked: list[StreamId] = []

    async def counted(parts: CompactionParts, stream: StreamId) -> tuple[StreamHead, list[IndexEntry]]:
        looked.append(stream)
        return await read_stream(parts, stream)

    patch.setattr(next_spans, "read_stream", counted)
    return looked


@simulated
async def test_a_topic_without_anything_new_is_not_looked_through_again(rig: Rig) -> None:
    made = await turns_over(rig, "one", "two")
    for _ in range(2):
        await made.turn()
    with pytest.MonkeyPatch.context() as patch:
        looked = watched_reads(patch)
        await made.turn()
        assert looked == []
        await made.write("two", 1)
        await rig.settle(1)
        await made.turn()
    assert set(looked) == {made.stream("two")}
    assert made.ranges("two") == [(0, 1), (2, 2)]


@simulated
async def test_a_topic_whose_steps_of_retention_change_is_looked_through_again(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    for _ in range(2):
        await made.turn()
    with pytest.MonkeyPatch.context() as patch:
        looked = watched_reads(patch)
        await made.topics.configure("one", lambda _: {"segment.ms": "3600000"})
        await made.turn()
        assert set(looked) == {made.stream("one")}
        looked.clear()
        await made.turn()
        assert looked == []


@simulated
async def test_a_value_that_cannot_be_read_holds_up_nobody(rig: Rig) -> None:
    """A mark of a file, a note of a missing one, and a job of a topic that is no more."""
    made = await turns_over(rig, "one")
    domain = STORE_DOMAIN
    starts = (file_gc_range(DOMAIN)[0], missing_range(domain)[0], job_key(StreamId(999)))
    writes = [Put(f"{start}garbage", b"\xff") for start in starts]
    await rig.meta.commit(domain, [], writes)
    (turn,) = await made.turn()
    assert (turn.report.records, turn.failure) == (2, "")
    assert made.counted("failures_total", what="catalogue") == 0
