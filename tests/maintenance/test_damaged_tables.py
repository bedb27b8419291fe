"""Compaction passes over damaged, renamed and dropped tables, and with a failing catalog."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from dray.cluster.topics import Topic
from dray.compaction.engine import TaskFailure
from dray.compaction.failures import load_failure
from dray.compaction.job_store import JobStore
from dray.compaction.tasks import Task, TaskOutput
from dray.index import JobState
from dray.maintenance.rebuild import Rebuilder
from dray.testing.memory_tables import ScriptedFaults
from tests.compaction.passes import CompactorRig, compactor_rig
from tests.compaction.rounds import UNMERGED
from tests.log.builders import Rig, simulated


@contextmanager
def _collected_logs() -> Iterator[list[dict[str, Any]]]:
    """Collect the log events of compaction."""
    events: list[dict[str, Any]] = []

    class Collecting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            assert isinstance(record.msg, dict)
            events.append(record.msg)

    handler, logger = Collecting(), logging.getLogger("dray.compaction")
    logger.addHandler(handler)
    try:
        yield events
    finally:
        logger.removeHandler(handler)


async def _compacted(rig: Rig) -> CompactorRig:
    made = await compactor_rig(rig, "one", "two")
    await made.run_pass(settings=UNMERGED)
    for topic in ("one", "two"):
        await made.write(topic)
    return made


@simulated
async def test_damaged_table_blocks_only_its_own_topic(rig: Rig) -> None:
    made = await _compacted(rig)
    made.catalog.external_damage(made.table("one"), "its metadata cannot be read")
    (one, two) = await made.run_pass()
    assert "cannot be read" in one.failure
    assert (one.rebuilt, two.failure) == (0, "")
    assert made.ranges("two") == [(0, 1), (2, 3)]
    assert made.table("one") in made.catalog.listing()
    made.catalog.external_damage(made.table("one"), None)
    await rig.settle(60)
    await made.run_pass()
    assert made.ranges("one") == [(0, 1), (2, 3)]


@simulated
async def test_damaged_table_is_logged_at_growing_intervals(rig: Rig) -> None:
    made = await compactor_rig(rig, "one", "two")
    await made.run_pass()
    made.catalog.external_damage(made.table("one"), "its metadata cannot be read")
    logged_at = []
    for second in range(40):
        with _collected_logs() as logs:
            await made.run_pass()
        logged_at += [second for log in logs if log["event"] == "table_unreadable"]
        assert not [log for log in logs if log["event"] == "table_dropped"]
        await rig.settle(1)
    assert logged_at == [0, 5, 15, 35]
    topic_id = made.found("one").topic_id
    failure = await load_failure(rig.meta, topic_id)
    assert failure is not None
    assert failure.reason == "its metadata cannot be read"
    made.catalog.external_drop(made.table("one"))
    await made.run_pass()
    assert made.ranges("one") == [(0, 1)]
    assert await load_failure(rig.meta, topic_id) is None


@simulated
async def test_failure_of_a_damaged_table_is_recorded_without_other_tables(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass()
    made.catalog.external_damage(made.table("one"), "its metadata cannot be read")
    await made.run_pass()
    failure = await load_failure(rig.meta, made.found("one").topic_id)
    assert failure is not None
    assert failure.reason == "its metadata cannot be read"


@simulated
async def test_damaged_table_of_a_deleted_topic_does_not_count_as_dropped(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass()
    table = made.table("one")
    await made.topic_admin.delete("one", made.found("one").topic_id)
    await made.topic_admin.finish_deletions()
    made.catalog.external_damage(table, "its metadata cannot be read")
    await rig.settle()
    await made.run_pass("b")
    assert [marker.in_table for marker in await rig.marks()] == [True]
    made.catalog.external_damage(table, None)
    await rig.settle(60)
    await made.run_pass("b")
    assert made.catalog.listing().tables == ()
    assert [marker.in_table for marker in await rig.marks()] == [False]


@simulated
async def test_renamed_table_is_logged_once_and_rebuilt_with_all_rows(rig: Rig) -> None:
    made = await _compacted(rig)
    made.catalog.external_rename(made.table("one"), "dray.zz_one")
    with _collected_logs() as logs:
        (one, _) = await made.run_pass()
        await made.run_pass()
    assert (one.rebuilt, one.failure) == (1, "")
    assert made.ranges("one") == [(0, 1), (2, 3)]
    renamed = [log for log in logs if log["event"] == "table_renamed"]
    assert [(log["table"], log["topic"]) for log in renamed] == [("dray.zz_one", "one")]


def test_table_renamed_after_the_listing_is_not_created_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    @simulated
    async def body(rig: Rig) -> None:
        made = await _compacted(rig)
        real = Rebuilder.run

        async def renaming(self: Rebuilder, topic: Topic, listed: object) -> int:
            rebuilt = await real(self, topic, listed)  # type: ignore[arg-type]
            if topic.name == "one":
                made.catalog.external_rename(made.table("one"), "dray.zz_one")
            return rebuilt

        with monkeypatch.context() as patched:
            patched.setattr(Rebuilder, "run", renaming)
            (one, two) = await made.run_pass()
        assert "no table" in one.failure
        assert two.failure == ""
        assert made.table("one") not in made.catalog.listing()
        await rig.settle(10)
        (one, _) = await made.run_pass()
        assert (one.rebuilt, one.failure) == (1, "")
        assert made.ranges("one") == [(0, 1), (2, 3)]

    body()


@simulated
async def test_table_dropped_before_its_first_commit_is_rebuilt(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    real = made.compaction.run_tasks

    async def dropping(tasks: Sequence[Task]) -> list[TaskOutput | TaskFailure]:
        made.catalog.external_drop(made.table("one"))
        return await real(tasks)

    made.compaction.run_tasks = dropping  # type: ignore[method-assign]
    (result,) = await made.run_pass()
    assert "no table" in result.failure
    stored = await JobStore(rig.meta, 1).load(made.stream("one"))
    assert stored is not None
    assert stored.job.state is JobState.WRITTEN
    made.compaction.run_tasks = real  # type: ignore[method-assign]
    (result,) = await made.run_pass("next")
    assert result.failure == ""
    assert made.ranges("one") == [(0, 1)]


@simulated
async def test_failing_catalog_is_retried_after_the_logged_delay(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    unavailable = ScriptedFaults("listing", ["refuse"] * 3)
    tried = []
    for second in range(20):
        with _collected_logs() as logs:
            await made.run_pass(faults=unavailable)
        tried += [(second, log["retry_in_s"]) for log in logs if log["event"] == "catalog_unavailable"]
        await rig.settle(1)
    assert tried == [(0, 5), (5, 10), (15, 20)]


@simulated
async def test_failing_cleanup_of_deleted_topics_does_not_block_rebuilds(rig: Rig) -> None:
    made = await compactor_rig(rig, "one", "two")
    await made.run_pass()
    await made.topic_admin.delete("two", made.found("two").topic_id)
    await made.topic_admin.finish_deletions()
    refused = ScriptedFaults("drop", ["refuse"])
    with _collected_logs() as logs:
        await made.run_pass("b", refused)
    assert refused.spent
    assert [log["retry_in_s"] for log in logs if log["event"] == "deleted_topic_cleanup_failed"] == [5]
    made.catalog.external_drop(made.table("one"))
    (one,) = await made.run_pass("b")
    assert one.rebuilt == 1
    assert len(made.catalog.listing().tables) == 2
    await rig.settle(10)
    await made.run_pass("b")
    assert made.catalog.listing().tables == (made.table("one"),)
