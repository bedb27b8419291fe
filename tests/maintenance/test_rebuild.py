"""Rebuild of dropped tables from the index, with crashes and concurrent commits in between."""

import pytest

from dray.compaction.compactor import TopicResult
from dray.compaction.job_store import JobStore
from dray.compaction.publish import Publisher
from dray.index import JobState
from dray.keyspace import CLUSTER_DOMAIN, rebuild_key
from dray.maintenance import rebuild
from dray.meta.port import Unavailable
from dray.tables.names import table_folder
from dray.tables.port import Job, TopicTable
from dray.testing.memory_tables import ScriptedFaults
from tests.compaction.passes import CompactorRig, compactor_rig
from tests.compaction.rounds import UNMERGED
from tests.log.builders import Rig, simulated
from tests.log.compacting import records


async def _dropped(rig: Rig, files: int = 2) -> CompactorRig:
    made = await compactor_rig(rig, "one", "two")
    await made.run_pass()
    for _ in range(files - 1):
        await made.write("one")
        await made.run_pass()
    made.catalog.external_drop(made.table("one"))
    return made


def _rebuilt(results: list[TopicResult]) -> list[int]:
    return [result.rebuilt for result in results]


@simulated
async def test_dropped_table_is_rebuilt(rig: Rig) -> None:
    made = await _dropped(rig)
    results = await made.run_pass()
    assert [(result.rebuilt, result.failure) for result in results] == [(2, ""), (0, "")]
    assert made.ranges("one") == [(0, 1), (2, 3)]
    (mark,) = made.catalog.current(made.table("one")).marks.values()
    assert mark.offset == 4
    assert _rebuilt(await made.run_pass()) == [0, 0]
    await made.write("one")
    await made.run_pass()
    assert made.ranges("one") == [(0, 5)]


@simulated
async def test_topic_without_files_is_not_rebuilt(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    made.compaction.bad[made.stream("one")] = "no"
    assert _rebuilt(await made.run_pass()) == [0]


def test_rebuild_in_several_commits_is_resumed_by_another_compactor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rebuild, "FILES_AT_ONCE", 1)

    @simulated
    async def body(rig: Rig) -> None:
        made = await _dropped(rig)
        (result, _) = await made.run_pass("dying", ScriptedFaults("append", [None, "refuse"]))
        assert "refuse" in result.failure
        assert made.ranges("one") == [(0, 1)]
        assert await _is_begun(made)
        assert _rebuilt(await made.run_pass("next")) == [1, 0]
        assert made.ranges("one") == [(0, 1), (2, 3)]
        assert not await _is_begun(made)

    body()


@simulated
async def test_commit_with_a_lost_response_is_not_repeated(rig: Rig) -> None:
    made = await _dropped(rig)
    (result, _) = await made.run_pass("dying", ScriptedFaults("append", ["lost_answer"]))
    assert result.failure
    snapshot = made.catalog.current(made.table("one")).snapshot_id
    await made.run_pass("next")
    assert made.ranges("one") == [(0, 1), (2, 3)]
    assert made.catalog.current(made.table("one")).snapshot_id == snapshot


@simulated
async def test_delayed_commit_that_lands_after_a_retry_is_not_applied_twice(rig: Rig) -> None:
    made = await _dropped(rig)
    await made.run_pass("dying", ScriptedFaults("append", ["lost_request"]))
    jobs: list[Job] = []
    real = made.catalog.append

    def landing(table: TopicTable, files: object, job: Job, expected_snapshot_id: int | None) -> object:
        jobs.append(job)
        real(table, files, job, expected_snapshot_id)  # type: ignore[arg-type]
        return real(table, files, job, expected_snapshot_id)  # type: ignore[arg-type]

    made.catalog.append = landing  # type: ignore[method-assign,assignment]
    await made.run_pass("next")
    assert [job.id.partition("-")[2] for job in jobs] == ["0"]
    assert made.ranges("one") == [(0, 1), (2, 3)]


@simulated
async def test_files_are_not_added_to_a_table_that_has_changed_since(rig: Rig) -> None:
    """The commit that changed it may have added the files, or merged them."""
    made = await _dropped(rig)
    real = made.catalog.append

    def overtaken(table: TopicTable, files: object, job: Job, expected_snapshot_id: int | None) -> object:
        made.catalog.append = real  # type: ignore[method-assign]
        made.catalog.external_commit(table, [], [])
        return real(table, files, job, expected_snapshot_id)  # type: ignore[arg-type]

    made.catalog.append = overtaken  # type: ignore[method-assign,assignment]
    (result, *_) = await made.run_pass("slow")
    assert "expected snapshot" in result.failure
    assert made.ranges("one") == []
    await made.run_pass("next")
    assert made.ranges("one") == [(0, 1), (2, 3)]


def test_published_files_that_are_not_in_the_index_yet_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a crash between table commit and index swap, the merged file is added, not those it replaces."""

    @simulated
    async def body(rig: Rig) -> None:
        made = await compactor_rig(rig, "one", "two")
        stream = made.stream("one")
        for _ in range(3):
            await made.run_pass(settings=UNMERGED)
            await made.write("one")
        await made.run_pass()
        before = await records(made.opened, stream)
        with monkeypatch.context() as patched:
            patched.setattr(Publisher, "_swap", _crash)
            assert "crashed" in (await made.run_pass("dying"))[0].failure
        stored = await JobStore(rig.meta, 1).load(stream)
        assert stored is not None
        assert (stored.job.state, len(stored.job.replaced)) == (JobState.PUBLISHED, 4)
        made.catalog.external_drop(made.table("one"))
        (result, _) = await made.run_pass("next")
        assert (result.rebuilt, result.failure) == (1, "")
        assert made.ranges("one") == [(0, 7)]
        assert len(await made.files("one")) == 1
        assert await records(await rig.open("fresh"), stream) == before

    body()


async def _crash(*_: object) -> None:
    raise Unavailable("crashed here")


async def _is_begun(made: CompactorRig) -> bool:
    key = rebuild_key(made.found("one").topic_id)
    return await made.rig.meta.get(CLUSTER_DOMAIN, key) is not None


@simulated
async def test_lost_file_does_not_block_the_rebuild(rig: Rig) -> None:
    made = await _dropped(rig)
    (first, _) = await made.files("one")
    rig.bucket.delete(first.path)
    results = await made.run_pass()
    assert _rebuilt(results) == [1, 0]
    assert made.ranges("one") == [(2, 3)]
    assert _rebuilt(await made.run_pass()) == [0, 0]


@simulated
async def test_table_of_a_deleted_topic_of_the_same_name_is_replaced(rig: Rig) -> None:
    made = await _dropped(rig)
    made.catalog.create_if_missing(TopicTable("one", "00" * 16), table_folder("one"))
    results = await made.run_pass()
    assert [result.failure for result in results] == ["", ""]
    assert _rebuilt(results) == [2, 0]
    assert not await _is_begun(made)
    assert made.ranges("one") == [(0, 1), (2, 3)]
