"""What a compactor makes of tables that are damaged, renamed or gone, and of a catalogue that fails."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from dray.cluster.topics import Topic
from dray.index import JobState
from dray.pipeline.care.rebuild import Rebuilder
from dray.pipeline.engine import TaskFailed
from dray.pipeline.job_store import JobStore
from dray.pipeline.troubles import known_trouble
from dray.pipeline.work import Answer, Task
from dray.tables.memory import ScriptedFaults
from tests.log.builders import Rig, simulated
from tests.pipeline.rounds import UNMERGED
from tests.pipeline.turns import Turns, turns_over


@contextmanager
def _told() -> Iterator[list[dict[str, Any]]]:
    """Collect what is logged."""
    told: list[dict[str, Any]] = []

    class Collecting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            assert isinstance(record.msg, dict)
            told.append(record.msg)

    handler, logger = Collecting(), logging.getLogger("dray.pipeline")
    logger.addHandler(handler)
    try:
        yield told
    finally:
        logger.removeHandler(handler)


async def _compacted(rig: Rig) -> Turns:
    made = await turns_over(rig, "one", "two")
    await made.turn(settings=UNMERGED)
    for topic in ("one", "two"):
        await made.write(topic)
    return made


@simulated
async def test_a_damaged_table_stops_only_its_own_topic(rig: Rig) -> None:
    made = await _compacted(rig)
    made.catalog.somebody_damages(made.table("one"), "its metadata cannot be read")
    (one, two) = await made.turn()
    assert "cannot be read" in one.failure
    assert (one.rebuilt, two.failure) == (0, "")
    assert made.ranges("two") == [(0, 1), (2, 3)]
    assert made.table("one") in made.catalog.listing()
    made.catalog.somebody_damages(made.table("one"), None)
    await rig.settle(60)
    await made.turn()
    assert made.ranges("one") == [(0, 1), (2, 3)]


@simulated
async def test_a_damaged_table_is_told_less_and_less_often(rig: Rig) -> None:
    made = await turns_over(rig, "one", "two")
    await made.turn()
    made.catalog.somebody_damages(made.table("one"), "its metadata cannot be read")
    told = []
    for second in range(40):
        with _told() as logs:
            await made.turn()
        told += [second for log in logs if log["event"] == "table_unreadable"]
        assert not [log for log in logs if log["event"] == "table_dropped"]
        await rig.settle(1)
    assert told == [0, 5, 15, 35]
    topic_id = made.found("one").topic_id
    trouble = await known_trouble(rig.meta, topic_id)
    assert trouble is not None
    assert trouble.why == "its metadata cannot be read"
    made.catalog.somebody_drops(made.table("one"))
    await made.turn()
    assert made.ranges("one") == [(0, 1)]
    assert await known_trouble(rig.meta, topic_id) is None


@simulated
async def test_a_damaged_table_is_known_though_it_is_the_only_one(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn()
    made.catalog.somebody_damages(made.table("one"), "its metadata cannot be read")
    await made.turn()
    trouble = await known_trouble(rig.meta, made.found("one").topic_id)
    assert trouble is not None
    assert trouble.why == "its metadata cannot be read"


@simulated
async def test_the_damaged_table_of_a_deleted_topic_is_not_taken_for_gone(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn()
    table = made.table("one")
    await made.topics.delete("one", made.found("one").topic_id)
    await made.topics.finish_deletions()
    made.catalog.somebody_damages(table, "its metadata cannot be read")
    await rig.settle()
    await made.turn("b")
    assert [marker.in_table for marker in await rig.marks()] == [True]
    made.catalog.somebody_damages(table, None)
    await rig.settle(60)
    await made.turn("b")
    assert made.catalog.listing().tables == ()
    assert [marker.in_table for marker in await rig.marks()] == [False]


@simulated
async def test_a_renamed_table_is_told_once_and_all_rows_come_back(rig: Rig) -> None:
    made = await _compacted(rig)
    made.catalog.somebody_renames(made.table("one"), "dray.zz_one")
    with _told() as logs:
        (one, _) = await made.turn()
        await made.turn()
    assert (one.rebuilt, one.failure) == (1, "")
    assert made.ranges("one") == [(0, 1), (2, 3)]
    told = [log for log in logs if log["event"] == "table_renamed"]
    assert [(log["table"], log["topic"]) for log in told] == [("dray.zz_one", "one")]


def test_a_table_renamed_after_the_listing_is_not_made_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    @simulated
    async def body(rig: Rig) -> None:
        made = await _compacted(rig)
        real = Rebuilder.run

        async def renaming(self: Rebuilder, topic: Topic, listed: object) -> int:
            rebuilt = await real(self, topic, listed)  # type: ignore[arg-type]
            if topic.name == "one":
                made.catalog.somebody_renames(made.table("one"), "dray.zz_one")
            return rebuilt

        with monkeypatch.context() as patched:
            patched.setattr(Rebuilder, "run", renaming)
            (one, two) = await made.turn()
        assert "no table" in one.failure
        assert two.failure == ""
        assert made.table("one") not in made.catalog.listing()
        await rig.settle(10)
        (one, _) = await made.turn()
        assert (one.rebuilt, one.failure) == (1, "")
        assert made.ranges("one") == [(0, 1), (2, 3)]

    body()


@simulated
async def test_a_table_dropped_before_its_first_file_is_in_it(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    real = made.compaction.perform

    async def dropping(tasks: Sequence[Task]) -> list[Answer | TaskFailed]:
        made.catalog.somebody_drops(made.table("one"))
        return await real(tasks)

    made.compaction.perform = dropping  # type: ignore[method-assign]
    (turn,) = await made.turn()
    assert "no table" in turn.failure
    stored = await JobStore(rig.meta, 1).load(made.stream("one"))
    assert stored is not None
    assert stored.job.state is JobState.WRITTEN
    made.compaction.perform = real  # type: ignore[method-assign]
    (turn,) = await made.turn("next")
    assert turn.failure == ""
    assert made.ranges("one") == [(0, 1)]


@simulated
async def test_a_catalogue_that_fails_is_asked_again_when_it_was_said(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    away = ScriptedFaults("listing", ["refuse"] * 3)
    tried = []
    for second in range(20):
        with _told() as logs:
            await made.turn(faults=away)
        tried += [(second, log["again_in_s"]) for log in logs if log["event"] == "catalogue_fails"]
        await rig.settle(1)
    assert tried == [(0, 5), (5, 10), (15, 20)]


@simulated
async def test_topics_that_cannot_be_cleared_do_not_keep_tables_from_being_listed(rig: Rig) -> None:
    made = await turns_over(rig, "one", "two")
    await made.turn()
    await made.topics.delete("two", made.found("two").topic_id)
    await made.topics.finish_deletions()
    refused = ScriptedFaults("drop", ["refuse"])
    with _told() as logs:
        await made.turn("b", refused)
    assert refused.spent
    assert [log["again_in_s"] for log in logs if log["event"] == "deleted_topics_not_cleared"] == [5]
    made.catalog.somebody_drops(made.table("one"))
    (one,) = await made.turn("b")
    assert one.rebuilt == 1
    assert len(made.catalog.listing().tables) == 2
    await rig.settle(10)
    await made.turn("b")
    assert made.catalog.listing().tables == (made.table("one"),)
