"""Passes of a compactor: topics and leases, failures and retries, idle streams and deleted topics."""

from collections.abc import Sequence

import pytest

from dray.cluster.topics import TopicCatalog
from dray.compaction import candidates
from dray.compaction.candidates import read_stream
from dray.compaction.compactor import TopicResult
from dray.compaction.deps import CompactionDeps
from dray.compaction.engine import EngineFailed, TaskFailure
from dray.compaction.failures import load_failure
from dray.compaction.job_store import JobLost, JobStore, StoredJob
from dray.compaction.key_compaction.rounds import KeyCompactionRound
from dray.compaction.leases import Leases
from dray.compaction.report import RoundReport
from dray.compaction.tasks import Task, TaskOutput
from dray.ids import StreamId
from dray.index import IndexEntry, StreamHead, WalEntry
from dray.keyspace import file_gc_range, job_key, missing_files_range
from dray.meta.port import Put
from dray.tables.port import Unavailable
from dray.testing.memory_tables import MemoryTables, ScriptedFaults
from tests.compaction.key_compaction import write
from tests.compaction.passes import compactor_rig
from tests.compaction.rounds import EAGER
from tests.log.builders import DOMAIN, STORE_DOMAIN, Rig, simulated
from tests.log.compacting import records


@simulated
async def test_pass_creates_a_table_for_each_topic(rig: Rig) -> None:
    made = await compactor_rig(rig, "one", "two")
    results = await made.run_pass()
    assert [(result.topic, result.report.records, result.failure) for result in results] == [
        ("one", 2, ""),
        ("two", 2, ""),
    ]
    tables = (await MemoryTables(made.catalog).listing()).tables
    assert sorted(table.topic for table in tables) == ["one", "two"]


@simulated
async def test_topic_leased_by_another_compactor_is_not_visited(rig: Rig) -> None:
    made = await compactor_rig(rig, "one", "two")
    one = made.found("one")
    theirs = Leases(rig.meta, "other", 10_000)
    assert await theirs.acquire(one.topic_id)
    assert [(result.topic, result.held_by_other) for result in await made.run_pass()] == [
        ("one", True),
        ("two", False),
    ]
    await theirs.release(one.topic_id)
    assert [result.topic for result in await made.run_pass()] == ["one", "two"]


@simulated
async def test_job_lost_to_another_compactor_is_not_a_failure(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")

    async def taken(_: JobStore, stored: StoredJob) -> None:
        raise JobLost(f"the job of stream {stored.stream} is owned by another compactor")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JobStore, "confirm", taken)
        (result,) = await made.run_pass()
    assert (result.held_by_other, result.failure) == (True, "")
    (again,) = await made.run_pass()
    assert (again.held_by_other, again.report.records) == (False, 2), "there is no backoff"


@simulated
async def test_failure_of_one_topic_is_reported_and_does_not_affect_others(rig: Rig) -> None:
    made = await compactor_rig(rig, "one", "two")
    results = await made.run_pass(faults=ScriptedFaults("append", ["refuse"]))
    assert [bool(result.failure) for result in results] == [True, False]
    assert [result.failure for result in await made.run_pass("b")] == ["", ""]


@simulated
async def test_failed_engine_is_not_called_again_in_the_pass_and_delays_nothing_else(rig: Rig) -> None:
    made = await compactor_rig(rig, "one", "two", "written")
    await made.run_pass(faults=ScriptedFaults("append", [None, None, "refuse"]))
    for topic in ("one", "two"):
        await made.write(topic)
    await made.opened.log.trim(made.stream("two"), 2)
    asked: list[Task] = []

    async def fail(tasks: Sequence[Task]) -> list[TaskOutput | TaskFailure]:
        asked.extend(tasks)
        raise EngineFailed("the engine is down")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made.compaction, "run_tasks", fail)
        compactor, leases = made.compactor("b")
        results: list[TopicResult] = []

        async def run_pass() -> None:
            async for result in compactor.run_pass():
                results.append(result)  # noqa: PERF401 - it raises after the last topic

        with pytest.raises(EngineFailed, match="the engine is down"):
            await run_pass()
        await leases.close()
    assert [(result.topic, result.failure) for result in results] == [
        ("one", "the engine is down"),
        ("two", ""),
        ("written", ""),
    ]
    assert [(result.detached, result.report.records) for result in results] == [(0, 0), (1, 0), (0, 2)]
    assert {task.stream for task in asked} == {made.stream("one")}
    assert (made.ranges("two"), made.ranges("written")) == ([], [(0, 1)])
    failure = await load_failure(rig.meta, made.found("two").topic_id)
    assert failure is not None
    assert failure.reason == "the engine is down"
    assert [result.report.records for result in await made.run_pass("c")] == [2, 2, 0]


@simulated
async def test_recreated_topic_gets_its_table_in_the_next_pass(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass()
    old = made.table("one")
    await made.topic_admin.delete("one", made.found("one").topic_id)
    await made.topic_admin.create("one", 1, {})
    await made.write("one")
    (result,) = await made.run_pass()
    assert (result.failure, result.report.records) == ("", 2)
    assert made.table("one") != old
    assert made.counted("failures_total", scope="topic") == 0


@simulated
async def test_failing_topic_is_retried_with_exponential_backoff(rig: Rig) -> None:
    made = await compactor_rig(rig, "one", "two")
    await made.run_pass()
    for topic in ("one", "two"):
        await made.write(topic)
    made.catalog.external_alter(made.table("one"), "a column was dropped")
    tried = []
    for second in range(40):
        results = await made.run_pass()
        tried += [second for result in results if result.topic == "one" and result.failure]
        assert any(result.topic == "two" and not result.failure for result in results)
        await rig.settle(1)
    assert tried == [0, 5, 15, 35]
    assert made.counted("failures_total", scope="topic") == len(tried)
    assert made.ranges("two") == [(0, 1), (2, 3)]
    assert len(await records(made.opened, made.stream("one"))) == 4
    made.catalog.external_alter(made.table("one"), None)
    await rig.settle(60)
    await made.run_pass()
    assert made.ranges("one") == [(0, 1), (2, 3)]


@simulated
async def test_unreadable_partition_is_reported_with_its_location_and_retried_with_backoff(
    rig: Rig,
) -> None:
    made = await compactor_rig(rig, "one", partitions=2)
    bad = made.stream("one")
    (entry, _) = await rig.wal_entries(bad)
    made.compaction.bad[bad] = "a batch is damaged"
    tried = []
    for second in range(20):
        (result,) = await made.run_pass()
        tried += [second] if result.report.failures else []
        assert result.failure == ""
        if second == 0:
            (failure,) = result.report.failures
            assert "offsets 0 to 1" in failure
            assert entry.path in failure
            assert "a batch is damaged" in failure
        await rig.settle(1)
    assert tried == [0, 5, 15]
    assert made.counted("failures_total", scope="partition") == len(tried)
    assert all(isinstance(one, WalEntry) for one in await rig.entries(bad))
    assert made.ranges("one") == [(0, 1)]
    made.compaction.bad.clear()
    await rig.settle(60)
    await made.run_pass()
    assert made.ranges("one") == [(0, 1), (0, 1)]


@simulated
async def test_unreadable_partition_does_not_prevent_merges_in_others(rig: Rig) -> None:
    made = await compactor_rig(rig, "one", partitions=2)
    made.compaction.bad[made.stream("one")] = "a batch is damaged"
    await made.run_pass()
    for _ in range(2):
        await made.write("one", 1, partition=1)
        await rig.settle(1)
        await made.run_pass()
    assert made.ranges("one") == [(0, 3)]


@simulated
async def test_full_disk_leaves_stream_and_table_unchanged(rig: Rig) -> None:
    made = await compactor_rig(rig, "one", "two")
    made.compaction.bad[made.stream("one")] = "StoreUnusable: no space left for compaction/v1/x.parquet"
    results = await made.run_pass()
    assert [len(result.report.failures) for result in results] == [1, 0]
    assert "no space left" in results[0].report.failures[0]
    assert made.ranges("two") == [(0, 1)]
    assert made.ranges("one") == []
    assert len(await records(made.opened, made.stream("one"))) == 2
    made.compaction.bad.clear()
    await rig.settle(10)
    await made.run_pass()
    assert made.ranges("one") == [(0, 1)]


@simulated
async def test_unavailable_catalog_is_reported_and_affects_no_topic(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    fault = ScriptedFaults("listing", ["refuse"])
    results = await made.run_pass(faults=fault)
    assert fault.spent
    assert [result.failure for result in results] == [""]
    assert made.counted("failures_total", scope="catalog") == 1
    assert made.counted("last_success_seconds") == 0
    assert made.ranges("one") == [(0, 1)]
    await rig.settle(10)
    await made.run_pass()
    assert made.counted("last_success_seconds") == rig.clock.now_ms() / 1000


@simulated
async def test_topic_deleted_while_its_file_is_written_leaves_no_table(rig: Rig) -> None:
    made = await compactor_rig(rig, "one", "two")
    one = made.found("one")
    real = made.compaction.run_tasks

    async def deleting(tasks: Sequence[Task]) -> list[TaskOutput | TaskFailure]:
        answers = await real(tasks)
        if made.topics.find("one") is not None:
            await made.topic_admin.delete("one", one.topic_id)
            await made.topic_admin.finish_deletions()
        return answers

    made.compaction.run_tasks = deleting  # type: ignore[method-assign]
    results = await made.run_pass()
    assert [(result.topic, result.failure) for result in results] == [("one", ""), ("two", "")]
    await rig.settle()
    await made.run_pass("b")
    assert [table.topic for table in (await MemoryTables(made.catalog).listing()).tables] == ["two"]
    assert [marker.in_table for marker in await rig.marks()] == [False]


@simulated
async def test_file_with_deleted_rows_is_not_merged(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass()
    for _ in range(4):
        await made.write("one", 1)
        await rig.settle(1)
        await made.run_pass()
        files = await made.files("one")
        if len(files) == 2:
            made.catalog.external_delete_rows(made.table("one"), files[1].path)
    assert made.ranges("one") == [(0, 1), (2, 2), (3, 5)]
    (result,) = await made.run_pass()
    assert (result.failure, result.report.files) == ("", 0)
    with pytest.MonkeyPatch.context() as patch:
        streams_read = recorded_reads(patch)
        await made.run_pass()
        assert streams_read == []
        await rig.settle(EAGER.audit_interval_ms / 1_000 + 1)  # the rows may be back in the table
        await made.run_pass()
        await made.run_pass()
        assert streams_read != []


@simulated
async def test_file_damaged_before_it_is_in_the_table_is_written_again(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    real = made.compaction.run_tasks

    async def damaging(tasks: Sequence[Task]) -> list[TaskOutput | TaskFailure]:
        answers = await real(tasks)
        whole = bytearray(rig.bucket.get(tasks[0].path))
        whole[-20] ^= 1
        rig.bucket.delete(tasks[0].path)
        rig.bucket.put_new(tasks[0].path, [bytes(whole)])
        return answers

    made.compaction.run_tasks = damaging  # type: ignore[method-assign]
    (result,) = await made.run_pass()
    assert result.failure == ""
    assert "footer should have CRC" in result.report.failures[0]
    assert made.ranges("one") == []
    made.compaction.run_tasks = real  # type: ignore[method-assign]
    (result,) = await made.run_pass("b")
    assert (result.failure, result.report.failures) == ("", [])
    assert made.ranges("one") == [(0, 1)]


@simulated
async def test_failed_key_compaction_is_retried_with_backoff(rig: Rig) -> None:
    made = await compactor_rig(rig, "usual")
    configs = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", "max.compaction.lag.ms": "1"}
    await made.topic_admin.create("keyed", 1, configs)
    for text in ("a1 b1", "a2 a3", "c1"):
        await write(made.opened, text, made.stream("keyed"))
    await rig.settle(1)
    made.compaction.unfilterable.add(made.stream("keyed"))
    tried = []
    for second in range(20):
        (result, _) = await made.run_pass()
        tried += [second] if result.report.failures else []
        if second == 0:
            (failure,) = result.report.failures
            (file,) = await made.files("keyed")
            assert f"offsets 0 to 4, in {file.path}: a file is damaged" in failure
        await rig.settle(1)
    assert tried == [0, 5, 15]
    made.compaction.unfilterable.clear()
    await rig.settle(60)
    (result, usual) = await made.run_pass()
    assert (result.topic, result.report.dropped, result.report.failures) == ("keyed", 2, [])
    assert usual.report.dropped == 0
    fresh = await rig.open("fresh")
    assert [record.offset for record in await records(fresh, made.stream("keyed"))] == [1, 3, 4]


@simulated
async def test_round_failures_are_reported_even_if_key_compaction_fails(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    made.compaction.bad[made.stream("one")] = "no space left"

    async def failing(_: KeyCompactionRound) -> RoundReport:
        raise Unavailable("the catalog is unavailable")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeyCompactionRound, "run", failing)
        (result,) = await made.run_pass()
    assert result.failure == "the catalog is unavailable"
    assert made.counted("failures_total", scope="partition") == 1


@simulated
async def test_rounds_update_metrics(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await rig.settle(7)
    await made.run_pass()
    (file,) = await made.files("one")
    assert made.counted("files_total", kind="wal") == 1
    assert made.counted("records_total", kind="wal") == 2
    assert made.counted("read_bytes_total", kind="wal") == file.ingested_bytes
    assert made.counted("written_bytes_total", kind="wal") == file.size_bytes
    assert made.counted("round_seconds_count") == 1
    assert made.counted("lag_seconds", topic="one") == 0
    made.compaction.bad[made.stream("one")] = "no"
    await made.write("one")
    await rig.settle(7)
    await made.run_pass()
    assert 7 <= made.counted("lag_seconds", topic="one") < 8


@simulated
async def test_table_of_a_deleted_topic_is_dropped_and_its_files_released(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass()
    one = made.found("one")
    await made.topic_admin.delete("one", one.topic_id)
    await made.topic_admin.finish_deletions()
    await rig.settle()
    await made.run_pass("b")
    assert (await MemoryTables(made.catalog).listing()).tables == ()
    assert [marker.in_table for marker in await rig.marks()] == [False]


@simulated
async def test_table_of_a_topic_that_is_not_loaded_yet_is_not_dropped(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass()
    not_loaded = TopicCatalog(rig.meta, rig.clock)
    made.topics = not_loaded
    await made.run_pass("b")
    (table,) = (await MemoryTables(made.catalog).listing()).tables
    assert table.topic == "one"


def recorded_reads(patch: pytest.MonkeyPatch) -> list[StreamId]:
    """Record the streams whose entries are read."""
    streams_read: list[StreamId] = []

    async def recorded(deps: CompactionDeps, stream: StreamId) -> tuple[StreamHead, list[IndexEntry]]:
        streams_read.append(stream)
        return await read_stream(deps, stream)

    patch.setattr(candidates, "read_stream", recorded)
    return streams_read


@simulated
async def test_idle_streams_are_not_read_again(rig: Rig) -> None:
    made = await compactor_rig(rig, "one", "two")
    for _ in range(2):
        await made.run_pass()
    with pytest.MonkeyPatch.context() as patch:
        streams_read = recorded_reads(patch)
        await made.run_pass()
        assert streams_read == []
        await made.write("two", 1)
        await rig.settle(1)
        await made.run_pass()
    assert set(streams_read) == {made.stream("two")}
    assert made.ranges("two") == [(0, 1), (2, 2)]


@simulated
async def test_streams_are_read_again_when_retention_windows_change(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    for _ in range(2):
        await made.run_pass()
    with pytest.MonkeyPatch.context() as patch:
        streams_read = recorded_reads(patch)
        await made.topic_admin.configure("one", lambda _: {"segment.ms": "3600000"})
        await made.run_pass()
        assert set(streams_read) == {made.stream("one")}
        streams_read.clear()
        await made.run_pass()
        assert streams_read == []


@simulated
async def test_corrupt_metadata_values_affect_no_topic(rig: Rig) -> None:
    """Corrupt are the marker of a file, the record of a missing file, and the job of a deleted topic."""
    made = await compactor_rig(rig, "one")
    domain = STORE_DOMAIN
    starts = (file_gc_range(DOMAIN)[0], missing_files_range(DOMAIN)[0], job_key(StreamId(999)))
    writes = [Put(f"{start}garbage", b"\xff") for start in starts]
    await rig.meta.commit(domain, [], writes)
    (result,) = await made.run_pass()
    assert (result.report.records, result.failure) == (2, "")
    assert made.counted("failures_total", scope="catalog") == 0
