"""Cleaning by key takes stream and table along; whatever dies when, the next go finishes it."""

import pytest

from dray.index import CleanStep, JobState
from dray.objects.memory import MemoryObjects
from dray.pipeline.clean.tasks import CleanTask, MapTask
from dray.pipeline.job_store import JobStore
from dray.pipeline.settings import CompactionSettings
from dray.pipeline.topic_tables import table_of
from dray.records import iter_batches, parse_header
from dray.sweep import RetentionPolicy
from dray.sweep.files import FileSweep
from dray.tables.memory import ScriptedFaults
from dray.tables.port import OutcomeUnknown
from dray.testing.nodes import Node, NodeCrashed
from dray.testing.virtual_loop import run
from tests.log.builders import DOMAIN, ONE, TWO, OpenLog, Rig, simulated
from tests.log.compacting import TOPIC
from tests.pipeline.cleaning import RETENTION_S, Cleaning, told, told_parts, write
from tests.pipeline.rounds import STREAMS
from tests.sweep.builders import retention_of

_STEPS_MAX = 200


async def _filled(rig: Rig, *batches: str, **configs: str) -> tuple[OpenLog, Cleaning]:
    """Write each batch to the first stream, and take it into a file of its own."""
    opened = await rig.open()
    cleaning = Cleaning(rig, {name.replace("_", "."): value for name, value in configs.items()})
    await _more(opened, cleaning, *batches)
    return opened, cleaning


async def _more(opened: OpenLog, cleaning: Cleaning, *batches: str) -> None:
    for batch in batches:
        await write(opened, batch)
        await cleaning.run(settings=CompactionSettings(wal_age_ms_max=0, merge_files_min=100))


@simulated
async def test_of_each_key_the_last_record_stays(rig: Rig) -> None:
    _, cleaning = await _filled(rig, "a1 b1 -1", "a2 c1", "c2 -2 d-")
    report = await cleaning.clean()
    assert (report.dropped, report.failures) == (4, [])
    assert told(await cleaning.stream_rows()) == "1b1 3a2 5c2 7d-"
    assert told(cleaning.table_rows()) == "1b1 3a2 5c2 7d-"
    assert (await cleaning.cleaned()).end_offset == 8


@simulated
async def test_what_is_new_is_cleaned_against_all_that_is_old(rig: Rig) -> None:
    opened, cleaning = await _filled(rig, "a1 b1", "c1 d1")
    await cleaning.clean()
    await _more(opened, cleaning, "d2 a2")
    await cleaning.clean()
    assert told(await cleaning.stream_rows()) == "1b1 2c1 4d2 5a2"


@simulated
async def test_what_is_not_in_a_file_yet_is_left_alone(rig: Rig) -> None:
    opened, cleaning = await _filled(rig, "a1 b1")
    await write(opened, "a2 -2")
    await cleaning.clean()
    assert told(await cleaning.stream_rows()) == "0a1 1b1 2a2 3-2"


@simulated
async def test_files_in_which_everything_stays_are_not_written_anew(rig: Rig) -> None:
    _, cleaning = await _filled(rig, "a1", "b1", "c1", "b2")
    before = [file.path for file in await cleaning.files()]
    report = await cleaning.clean()
    after = [file.path for file in await cleaning.files()]
    assert (report.files, report.records) == (1, 0)
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, True, True]


@simulated
async def test_row_groups_in_which_everything_stays_stay_whole(rig: Rig) -> None:
    _, cleaning = await _filled(rig, "a1 b1 c1 d1 e1 e2 f1 g1")
    assert len((await cleaning.files())[0].groups) == 4
    await cleaning.clean()
    assert told(await cleaning.stream_rows()) == "0a1 1b1 2c1 3d1 5e2 6f1 7g1"


@simulated
async def test_a_go_without_work_does_nothing(rig: Rig) -> None:
    _, cleaning = await _filled(rig, "a1 a2")
    await cleaning.clean()
    snapshot = cleaning.catalog.current(table_of(TOPIC)).snapshot_id
    cleaning.performed.clear()
    assert (await cleaning.clean()).files == 0
    assert cleaning.performed == []
    assert cleaning.catalog.current(table_of(TOPIC)).snapshot_id == snapshot


@simulated
async def test_other_topics_are_not_cleaned(rig: Rig) -> None:
    _, cleaning = await _filled(rig, "a1 a2", cleanup_policy="delete")
    assert (await cleaning.clean()).dropped == 0
    assert told(await cleaning.stream_rows()) == "0a1 1a2"


@simulated
async def test_a_stretch_without_a_record_is_read_over(rig: Rig) -> None:
    _, cleaning = await _filled(rig, "a1 a2", "b1", "b2 b3", "a3")
    await cleaning.clean()
    assert told(await cleaning.stream_rows()) == "4b3 5a3"
    fresh = await rig.open("reader")
    for offset in range(6):  # however little is asked for
        found = await fresh.log.read(ONE, offset, 1)
        assert found.next_offset == 5 + (offset == 5)
        assert told_parts(found.parts) == ("5a3" if offset == 5 else "4b3")


@pytest.mark.slow
@simulated
async def test_many_files_without_a_record_are_read_over_by_who_asks_for_little(rig: Rig) -> None:
    _, cleaning = await _filled(rig, *["a1"] * 40)
    await cleaning.clean()
    assert sum(file.record_count for file in await cleaning.files()) == 1
    fresh = await rig.open("reader")
    assert told_parts((await fresh.log.read(ONE, 0, 1)).parts) == "39a1"


@simulated
async def test_who_asks_for_an_offset_behind_which_nothing_is_left_comes_to_the_end(rig: Rig) -> None:
    _, cleaning = await _filled(rig, "a1 a2", "a-", "b-")
    await cleaning.clean()
    await rig.settle(RETENTION_S)
    await cleaning.clean()
    assert await cleaning.stream_rows() == []
    fresh = await rig.open("reader")
    for offset in range(4):
        found = await fresh.log.read(ONE, offset, 1 << 20)
        (header,) = [parse_header(batch) for _, batch in iter_batches(memoryview(b"".join(found.parts)))]
        assert (found.next_offset, header.base_offset, header.last_offset, header.record_count) == (
            4,
            offset,
            3,
            0,
        )
    assert (await fresh.log.read(ONE, 0, 10, whole_first=False)).parts == []
    assert (await fresh.log.read(ONE, 4, 1 << 20)).parts == []


@simulated
async def test_tombstones_stay_for_their_time_and_then_go(rig: Rig) -> None:
    opened, cleaning = await _filled(rig, "a1 b1", "a-")
    await cleaning.clean()
    await rig.settle(RETENTION_S - 10)
    await _more(opened, cleaning, "c1 c2")
    await cleaning.clean()
    assert told(await cleaning.stream_rows()) == "1b1 2a- 4c2"
    await rig.settle(20)
    await _more(opened, cleaning, "d1 d2")
    await cleaning.clean()
    assert told(await cleaning.stream_rows()) == "1b1 4c2 6d2" == told(cleaning.table_rows())


@simulated
async def test_a_stream_at_rest_loses_its_tombstones_too(rig: Rig) -> None:
    _, cleaning = await _filled(rig, "a1", "a- b-")
    await cleaning.clean()
    assert (await cleaning.clean()).dropped == 0
    await rig.settle(RETENTION_S)
    assert (await cleaning.clean()).dropped == 2
    assert await cleaning.stream_rows() == [] == cleaning.table_rows()
    assert (await cleaning.cleaned()).steps == (CleanStep(3, 0),)
    cleaning.performed.clear()
    await cleaning.clean()
    assert cleaning.performed == []


@simulated
async def test_merging_does_not_make_tombstones_younger(rig: Rig) -> None:
    opened, cleaning = await _filled(rig, "a1", "a-")
    await cleaning.clean()
    await rig.settle(RETENTION_S - 10)
    await _more(opened, cleaning, "b1", "b2")
    await cleaning.run(settings=CompactionSettings(wal_age_ms_max=0, merge_files_min=2))
    assert len(await cleaning.files()) == 1
    await cleaning.clean()
    assert told(await cleaning.stream_rows()) == "1a- 3b2"
    await rig.settle(20)
    await _more(opened, cleaning, "c1 c2")
    await cleaning.clean()
    assert told(await cleaning.stream_rows()) == "3b2 5c2"


@simulated
async def test_little_memory_takes_more_passes_and_gives_the_same(rig: Rig) -> None:
    _, cleaning = await _filled(rig, "a1 b1", "a2 c1", "b2 a3", "c-")
    little = CompactionSettings(clean_keys_max=2)
    ends = []
    for _ in range(4):
        await cleaning.clean(settings=little)
        ends.append((await cleaning.cleaned()).end_offset)
    assert ends == [2, 4, 6, 7]
    assert told(await cleaning.stream_rows()) == "4b2 5a3 6c-" == told(cleaning.table_rows())


@simulated
async def test_many_files_take_several_jobs(rig: Rig) -> None:
    _, cleaning = await _filled(rig, "a1", "b1", "c1", "a2 b2 c2", "d-")
    few = CompactionSettings(clean_files_max=2)
    await cleaning.clean(settings=few)
    under_way = (await cleaning.cleaned()).under_way
    assert under_way is not None
    assert (under_way.end_offset, under_way.done_offset) == (7, 2)
    assert told(await cleaning.stream_rows()) == "2c1 3a2 4b2 5c2 6d-"
    for _ in range(2):
        await cleaning.clean(settings=few)
    assert (await cleaning.cleaned()).under_way is None
    assert [step.end_offset for step in (await cleaning.cleaned()).steps] == [7]
    assert (await cleaning.cleaned()).steps[0].tombstones_until_ms > 0
    assert told(await cleaning.stream_rows()) == "3a2 4b2 5c2 6d-" == told(cleaning.table_rows())


@simulated
async def test_a_file_of_which_rows_were_deleted_in_the_table_is_left_alone(rig: Rig) -> None:
    opened, cleaning = await _filled(rig, "a1 b1", "b2", "a-")
    (first, *_) = await cleaning.files()
    cleaning.catalog.somebody_deletes_rows(table_of(TOPIC), first.path)
    await cleaning.clean()
    assert told(await cleaning.stream_rows()) == "0a1 1b1 2b2 3a-"
    await rig.settle(RETENTION_S)
    await _more(opened, cleaning, "c1 c2")
    await cleaning.clean()
    assert told(await cleaning.stream_rows()) == "0a1 1b1 2b2 3a- 5c2"  # else a1 would be alive again
    await opened.log.trim(ONE, 2)
    await cleaning.clean()
    assert told(await cleaning.stream_rows()) == "2b2 5c2"


@simulated
async def test_a_file_that_is_not_in_the_table_any_more_is_left_alone(rig: Rig) -> None:
    _, cleaning = await _filled(rig, "a1", "a2 b1", "b2")
    (first, *_) = await cleaning.files()
    cleaning.catalog.somebody_commits(table_of(TOPIC), [first.path], [])
    report = await cleaning.clean()
    assert report.failures == []
    assert told(await cleaning.stream_rows()) == "0a1 1a2 3b2"


@simulated
async def test_a_stream_that_cannot_be_read_leaves_the_others_alone(rig: Rig) -> None:
    opened, cleaning = await _filled(rig, "a1 a2")
    await write(opened, "x1 x2", TWO)
    await cleaning.run()
    cleaning.bad[ONE] = "object x is damaged"
    failing = cleaning.cleaning()
    report = await failing.run()
    assert (report.failures, failing.failed) == (["partition 0 of t: object x is damaged"], {ONE})
    assert told(await cleaning.stream_rows(TWO)) == "1x2"
    assert told(await cleaning.stream_rows()) == "0a1 1a2"
    cleaning.bad.clear()
    await cleaning.clean()
    assert told(await cleaning.stream_rows()) == "1a2"


@simulated
async def test_a_table_commit_whose_answer_was_lost_is_not_done_twice(rig: Rig) -> None:
    _, cleaning = await _filled(rig, "a1 a2", "b1 b2")
    with pytest.raises(OutcomeUnknown):
        await cleaning.clean(faults=ScriptedFaults("replace", ["lost_answer"]))
    assert (await cleaning.clean()).files == 0
    await cleaning.run()
    assert told(await cleaning.stream_rows()) == "1a2 3b2" == told(cleaning.table_rows())
    assert (await cleaning.cleaned()).end_offset == 4


@simulated
async def test_a_start_that_was_given_up_meanwhile_stays_given_up(rig: Rig) -> None:
    opened, cleaning = await _filled(rig, "a1 b1 c1", "b2 a2")
    await opened.log.trim(ONE, 1)
    await cleaning.clean()
    assert told(await cleaning.stream_rows()) == "2c1 3b2 4a2"
    assert [file.start_offset for file in await cleaning.files()] == [1, 3]


@simulated
async def test_what_lies_before_the_start_of_the_log_is_no_reason_to_write_a_file_anew(rig: Rig) -> None:
    opened, cleaning = await _filled(rig, "a1 b1", "a2")
    await opened.log.trim(ONE, 1)
    report = await cleaning.clean()
    assert (report.files, (await cleaning.cleaned()).end_offset) == (0, 3)


@simulated
async def test_a_pass_may_end_inside_a_file(rig: Rig) -> None:
    _, cleaning = await _filled(rig, "a1 b1 a2 b2 a3")
    little = CompactionSettings(clean_keys_max=4)
    await cleaning.clean(settings=little)
    assert told(await cleaning.stream_rows()) == "2a2 3b2 4a3"
    await cleaning.clean(settings=little)
    assert told(await cleaning.stream_rows()) == "3b2 4a3"


@simulated
async def test_the_keys_are_gone_when_the_job_is_done(rig: Rig) -> None:
    _, cleaning = await _filled(rig, "a1 a2", "b1")
    await cleaning.clean()
    tasks = [type(task) for task in cleaning.performed]
    assert tasks == [MapTask, CleanTask, CleanTask]
    assert not [path for path in rig.paths() if path.endswith(".keys")]


@simulated
async def test_retention_by_size_counts_what_cleaning_has_left(rig: Rig) -> None:
    opened, cleaning = await _filled(rig, "a1", *(["b1 b2 b3 b4"] * 4), "c1")
    size_bytes = sum(entry.came_bytes for entry in await rig.entries(ONE))
    policy = RetentionPolicy(retention_bytes=size_bytes // 2, is_cleaned=True)
    await cleaning.clean()
    await retention_of(rig, opened, policy).run()
    assert told(await cleaning.stream_rows()) == "0a1 16b4 17c1"
    await retention_of(rig, opened, RetentionPolicy(retention_bytes=1, is_cleaned=True)).run()
    assert told(await cleaning.stream_rows()) == "17c1"


class _Doomed:
    """Crashes a node at its k-th step."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.node: Node | None = None

    def on_step(self, node: Node | None) -> None:
        if node is not None and node is self.node and node.steps == self.at:
            node.crash()


@pytest.mark.slow
def test_who_cleans_may_die_at_every_step() -> None:
    for at in range(1, _STEPS_MAX):
        doomed = _Doomed(at)
        if run(_one_death(doomed), on_step=doomed.on_step):
            assert at > 20
            return
    raise AssertionError("the cleaning never came to its end")


async def _one_death(doomed: _Doomed) -> bool:
    rig = Rig()
    opened, cleaning = await _filled(rig, "a1 b1", "c1", "b2 d- a2")
    await write(opened, "x1 x2", TWO)
    await cleaning.run(settings=CompactionSettings(wal_age_ms_max=0, merge_files_min=100))
    await opened.log.close()
    doomed.node = Node("compactor")
    finished = True
    try:
        await doomed.node.run(cleaning.clean(travelling=True))
    except NodeCrashed:
        finished = False
    await rig.settle()
    rows = told(await cleaning.stream_rows())
    assert rows in {"0a1 1b1 2c1 3b2 4d- 5a2", "2c1 3b2 4d- 5a2"}
    await cleaning.run(settings=CompactionSettings(wal_age_ms_max=0, merge_files_min=100))
    await cleaning.clean()
    assert told(await cleaning.stream_rows()) == "2c1 3b2 4d- 5a2" == told(cleaning.table_rows())
    assert told(await cleaning.stream_rows(TWO)) == "1x2" == told(cleaning.table_rows(1))
    assert (await cleaning.cleaned()).end_offset == 6
    await _check_books(rig, cleaning)
    return finished


async def _check_books(rig: Rig, cleaning: Cleaning) -> None:
    """After the sweep the bucket holds what the index names, and of that the table what has rows."""
    await rig.settle(100)
    files = FileSweep(
        rig.meta, MemoryObjects(rig.bucket), DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=1
    )
    await files.run()
    await files.run_strays()
    entries = [entry for stream in STREAMS for entry in await cleaning.files(stream)]
    assert {path for path in rig.paths() if not path.endswith(".wo")} == {entry.path for entry in entries}
    tabled = {file.path for file in cleaning.catalog.current(table_of(TOPIC)).files}
    assert tabled == {entry.path for entry in entries if entry.record_count}
    for stream in STREAMS:
        stored = await JobStore(rig.meta, 1).load(stream)
        assert stored is not None
        assert stored.job.state is JobState.DONE
