"""A table that somebody has dropped is made again from the index, whatever dies in between."""

import pytest

from dray.cluster.keys import CLUSTER_DOMAIN
from dray.index import JobState
from dray.meta.port import Unavailable
from dray.pipeline.care import rebuild
from dray.pipeline.compactor import Turn
from dray.pipeline.job_store import JobStore
from dray.pipeline.publish import Publisher
from dray.tables.memory import ScriptedFaults
from dray.tables.names import table_folder
from dray.tables.port import Job, TopicTable
from tests.log.builders import Rig, simulated
from tests.log.compacting import records
from tests.pipeline.rounds import UNMERGED
from tests.pipeline.turns import Turns, turns_over


async def _dropped(rig: Rig, files: int = 2) -> Turns:
    made = await turns_over(rig, "one", "two")
    await made.turn()
    for _ in range(files - 1):
        await made.write("one")
        await made.turn()
    made.catalog.somebody_drops(made.table("one"))
    return made


def _rebuilt(turns: list[Turn]) -> list[int]:
    return [turn.rebuilt for turn in turns]


@simulated
async def test_a_dropped_table_is_made_again(rig: Rig) -> None:
    made = await _dropped(rig)
    turns = await made.turn()
    assert [(turn.rebuilt, turn.failure) for turn in turns] == [(2, ""), (0, "")]
    assert made.ranges("one") == [(0, 1), (2, 3)]
    (mark,) = made.catalog.current(made.table("one")).marks.values()
    assert mark.offset == 4
    assert _rebuilt(await made.turn()) == [0, 0]
    await made.write("one")
    await made.turn()
    assert made.ranges("one") == [(0, 5)]


@simulated
async def test_a_topic_without_files_needs_no_table(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    made.compaction.bad[made.stream("one")] = "no"
    assert _rebuilt(await made.turn()) == [0]


def test_files_go_in_a_few_at_a_time_and_a_dead_compactor_is_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rebuild, "FILES_AT_ONCE", 1)

    @simulated
    async def body(rig: Rig) -> None:
        made = await _dropped(rig)
        (turn, _) = await made.turn("dying", ScriptedFaults("append", [None, "refuse"]))
        assert "refuse" in turn.failure
        assert made.ranges("one") == [(0, 1)]
        assert await _is_begun(made)
        assert _rebuilt(await made.turn("next")) == [1, 0]
        assert made.ranges("one") == [(0, 1), (2, 3)]
        assert not await _is_begun(made)

    body()


@simulated
async def test_a_commit_whose_answer_was_lost_is_not_done_twice(rig: Rig) -> None:
    made = await _dropped(rig)
    (turn, _) = await made.turn("dying", ScriptedFaults("append", ["lost_answer"]))
    assert turn.failure
    snapshot = made.catalog.current(made.table("one")).snapshot_id
    await made.turn("next")
    assert made.ranges("one") == [(0, 1), (2, 3)]
    assert made.catalog.current(made.table("one")).snapshot_id == snapshot


@simulated
async def test_a_commit_that_lands_after_the_next_one_has_looked_is_not_done_twice(rig: Rig) -> None:
    made = await _dropped(rig)
    await made.turn("dying", ScriptedFaults("append", ["lost_request"]))
    jobs: list[Job] = []
    real = made.catalog.append

    def landing(table: TopicTable, files: object, job: Job, onto: int | None) -> object:
        jobs.append(job)
        real(table, files, job, onto)  # type: ignore[arg-type]
        return real(table, files, job, onto)  # type: ignore[arg-type]

    made.catalog.append = landing  # type: ignore[method-assign,assignment]
    await made.turn("next")
    assert [job.id.partition("-")[2] for job in jobs] == ["0"]
    assert made.ranges("one") == [(0, 1), (2, 3)]


@simulated
async def test_files_that_were_missing_are_not_put_into_a_table_that_has_changed_since(rig: Rig) -> None:
    """Whoever changed it may have put them in, or merged them."""
    made = await _dropped(rig)
    real = made.catalog.append

    def overtaken(table: TopicTable, files: object, job: Job, onto: int | None) -> object:
        made.catalog.append = real  # type: ignore[method-assign]
        made.catalog.somebody_commits(table, [], [])
        return real(table, files, job, onto)  # type: ignore[arg-type]

    made.catalog.append = overtaken  # type: ignore[method-assign,assignment]
    (turn, *_) = await made.turn("slow")
    assert "no longer at" in turn.failure
    assert made.ranges("one") == []
    await made.turn("next")
    assert made.ranges("one") == [(0, 1), (2, 3)]


def test_what_was_in_the_table_and_not_yet_in_the_index_goes_in_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge that died between table and index: its file is wanted, and not those that it replaces."""

    @simulated
    async def body(rig: Rig) -> None:
        made = await turns_over(rig, "one", "two")
        stream = made.stream("one")
        for _ in range(3):
            await made.turn(settings=UNMERGED)
            await made.write("one")
        await made.turn()
        before = await records(made.opened, stream)
        with monkeypatch.context() as patched:
            patched.setattr(Publisher, "_swap", _die)
            assert "died" in (await made.turn("dying"))[0].failure
        stored = await JobStore(rig.meta, 1).load(stream)
        assert stored is not None
        assert (stored.job.state, len(stored.job.replaced)) == (JobState.TABLED, 4)
        made.catalog.somebody_drops(made.table("one"))
        (turn, _) = await made.turn("next")
        assert (turn.rebuilt, turn.failure) == (1, "")
        assert made.ranges("one") == [(0, 7)]
        assert len(await made.files("one")) == 1
        assert await records(await rig.open("fresh"), stream) == before

    body()


async def _die(*_: object) -> None:
    raise Unavailable("died here")


async def _is_begun(made: Turns) -> bool:
    key = rebuild.rebuild_key(made.found("one").topic_id)
    return await made.rig.meta.get(CLUSTER_DOMAIN, key) is not None


@simulated
async def test_a_file_that_is_lost_keeps_nobody_else_out(rig: Rig) -> None:
    made = await _dropped(rig)
    (first, _) = await made.files("one")
    rig.bucket.delete(first.path)
    turns = await made.turn()
    assert _rebuilt(turns) == [1, 0]
    assert made.ranges("one") == [(2, 3)]
    assert _rebuilt(await made.turn()) == [0, 0]


@simulated
async def test_the_table_of_a_namesake_that_is_no_more_makes_room(rig: Rig) -> None:
    made = await _dropped(rig)
    made.catalog.create_if_missing(TopicTable("one", "00" * 16), table_folder("one"))
    turns = await made.turn()
    assert [turn.failure for turn in turns] == ["", ""]
    assert _rebuilt(turns) == [2, 0]
    assert not await _is_begun(made)
    assert made.ranges("one") == [(0, 1), (2, 3)]
