"""Rounds of key compaction: effects on stream and table, exclusions, and recovery after crashes."""

import pytest

from dray.compaction.job_store import JobStore
from dray.compaction.key_compaction.tasks import FilterTask, KeyMapTask
from dray.compaction.settings import CompactionSettings
from dray.compaction.topic_tables import table_of
from dray.index import CompactedRange, JobState, KeyCompactionState, WalEntry
from dray.objects.memory import MemoryObjects
from dray.records import iter_batches, parse_header
from dray.sweep import RetentionPolicy
from dray.sweep.files import FileSweep
from dray.tables.port import OutcomeUnknown
from dray.testing.memory_tables import ScriptedFaults
from dray.testing.nodes import Node, NodeCrashed
from tests.compaction.crashes import CrashAtStep, crash_at_every_step
from tests.compaction.damage import lose, restore
from tests.compaction.key_compaction import RETENTION_S, KeyCompaction, as_text, batches_as_text, write
from tests.compaction.rounds import EAGER, STREAMS
from tests.log.builders import DOMAIN, ONE, TWO, OpenLog, Rig, simulated
from tests.log.compacting import TOPIC
from tests.sweep.builders import retention_of

_STEPS_MAX = 200


async def _filled(rig: Rig, *batches: str, **configs: str) -> tuple[OpenLog, KeyCompaction]:
    """Write each batch to the first stream, and convert it to a file of its own."""
    opened = await rig.open()
    compaction = KeyCompaction(rig, {name.replace("_", "."): value for name, value in configs.items()})
    await _more(opened, compaction, *batches)
    return opened, compaction


async def _more(opened: OpenLog, compaction: KeyCompaction, *batches: str) -> None:
    for batch in batches:
        await write(opened, batch)
        await compaction.run(settings=CompactionSettings(wal_age_ms_max=0, merge_files_min=100))


@simulated
async def test_last_record_of_each_key_is_retained(rig: Rig) -> None:
    _, compaction = await _filled(rig, "a1 b1 -1", "a2 c1", "c2 -2 d-")
    report = await compaction.compact_keys()
    assert (report.dropped, report.failures) == (4, [])
    assert as_text(await compaction.stream_rows()) == "1b1 3a2 5c2 7d-"
    assert as_text(compaction.table_rows()) == "1b1 3a2 5c2 7d-"
    assert (await compaction.state()).end_offset == 8


@simulated
async def test_new_records_replace_compacted_ones(rig: Rig) -> None:
    opened, compaction = await _filled(rig, "a1 b1", "c1 d1")
    await compaction.compact_keys()
    await _more(opened, compaction, "d2 a2")
    await compaction.compact_keys()
    assert as_text(await compaction.stream_rows()) == "1b1 2c1 4d2 5a2"


@simulated
async def test_wal_records_are_not_compacted(rig: Rig) -> None:
    opened, compaction = await _filled(rig, "a1 b1")
    await write(opened, "a2 -2")
    await compaction.compact_keys()
    assert as_text(await compaction.stream_rows()) == "0a1 1b1 2a2 3-2"


@simulated
async def test_files_without_obsolete_rows_are_not_rewritten(rig: Rig) -> None:
    _, compaction = await _filled(rig, "a1", "b1", "c1", "b2")
    before = [file.path for file in await compaction.files()]
    report = await compaction.compact_keys()
    after = [file.path for file in await compaction.files()]
    assert (report.files, report.records) == (1, 0)
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, True, True]


@simulated
async def test_row_groups_without_obsolete_rows_are_copied(rig: Rig) -> None:
    _, compaction = await _filled(rig, "a1 b1 c1 d1 e1 e2 f1 g1")
    assert len((await compaction.files())[0].groups) == 4
    await compaction.compact_keys()
    assert as_text(await compaction.stream_rows()) == "0a1 1b1 2c1 3d1 5e2 6f1 7g1"


@simulated
async def test_active_segment_is_compacted_once_a_later_record_rolls_it(rig: Rig) -> None:
    opened, compaction = await _filled(
        rig, "a1", "a2 b1", segment_ms="60000", max_compaction_lag_ms=str(2**63 - 1)
    )
    await rig.settle(600)
    assert (await compaction.compact_keys()).dropped == 0
    assert await compaction.state() == KeyCompactionState()
    await write(opened, "b2")  # it stays in the WAL
    assert (await compaction.compact_keys()).dropped == 1
    assert as_text(await compaction.stream_rows()) == "1a2 2b1 3b2"
    assert (await compaction.state()).end_offset == 3


@simulated
async def test_files_of_different_segments_are_not_merged(rig: Rig) -> None:
    opened, compaction = await _filled(
        rig, "a1", "a2", segment_ms="60000", max_compaction_lag_ms=str(2**63 - 1)
    )
    await rig.settle(61)
    for batch in ("a3", "a4"):
        await write(opened, batch)
        await compaction.run(settings=CompactionSettings(wal_age_ms_max=0, merge_files_min=2))
    assert [file.start_offset for file in await compaction.files()] == [0, 2]
    await compaction.compact_keys()
    assert as_text(await compaction.stream_rows()) == "1a2 2a3 3a4"


@simulated
async def test_round_without_work_does_nothing(rig: Rig) -> None:
    _, compaction = await _filled(rig, "a1 a2")
    await compaction.compact_keys()
    snapshot = compaction.catalog.current(table_of(TOPIC)).snapshot_id
    compaction.tasks.clear()
    assert (await compaction.compact_keys()).files == 0
    assert compaction.tasks == []
    assert compaction.catalog.current(table_of(TOPIC)).snapshot_id == snapshot


@simulated
async def test_topics_with_another_cleanup_policy_are_not_compacted_by_key(rig: Rig) -> None:
    _, compaction = await _filled(rig, "a1 a2", cleanup_policy="delete")
    assert (await compaction.compact_keys()).dropped == 0
    assert as_text(await compaction.stream_rows()) == "0a1 1a2"


@simulated
async def test_fetches_skip_files_without_records(rig: Rig) -> None:
    _, compaction = await _filled(rig, "a1 a2", "b1", "b2 b3", "a3")
    await compaction.compact_keys()
    assert as_text(await compaction.stream_rows()) == "4b3 5a3"
    fresh = await rig.open("reader")
    for offset in range(6):  # with the smallest fetch size
        found = await fresh.log.read(ONE, offset, 1)
        assert found.next_offset == 5 + (offset == 5)
        assert batches_as_text(found.parts) == ("5a3" if offset == 5 else "4b3")


@pytest.mark.slow
@simulated
async def test_small_fetches_skip_many_files_without_records(rig: Rig) -> None:
    _, compaction = await _filled(rig, *["a1"] * 40)
    await compaction.compact_keys()
    assert sum(file.record_count for file in await compaction.files()) == 1
    fresh = await rig.open("reader")
    assert batches_as_text((await fresh.log.read(ONE, 0, 1)).parts) == "39a1"


@simulated
async def test_fetch_with_no_record_left_after_its_offset_reaches_the_end(rig: Rig) -> None:
    _, compaction = await _filled(rig, "a1 a2", "a-", "b-")
    await compaction.compact_keys()
    await rig.settle(RETENTION_S)
    await compaction.compact_keys()
    assert await compaction.stream_rows() == []
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
async def test_tombstones_are_retained_for_delete_retention_ms(rig: Rig) -> None:
    opened, compaction = await _filled(rig, "a1 b1", "a-")
    await compaction.compact_keys()
    await rig.settle(RETENTION_S - 10)
    await _more(opened, compaction, "c1 c2")
    await compaction.compact_keys()
    assert as_text(await compaction.stream_rows()) == "1b1 2a- 4c2"
    await rig.settle(20)
    await _more(opened, compaction, "d1 d2")
    await compaction.compact_keys()
    assert as_text(await compaction.stream_rows()) == "1b1 4c2 6d2" == as_text(compaction.table_rows())


@simulated
async def test_tombstones_of_an_idle_stream_expire(rig: Rig) -> None:
    _, compaction = await _filled(rig, "a1", "a- b-")
    await compaction.compact_keys()
    assert (await compaction.compact_keys()).dropped == 0
    await rig.settle(RETENTION_S)
    assert (await compaction.compact_keys()).dropped == 2
    assert await compaction.stream_rows() == [] == compaction.table_rows()
    assert (await compaction.state()).steps == (CompactedRange(3, 0),)
    compaction.tasks.clear()
    await compaction.compact_keys()
    assert compaction.tasks == []


@simulated
async def test_merges_do_not_prolong_the_retention_of_tombstones(rig: Rig) -> None:
    opened, compaction = await _filled(rig, "a1", "a-")
    await compaction.compact_keys()
    await rig.settle(RETENTION_S - 10)
    await _more(opened, compaction, "b1", "b2", "d1")
    await compaction.compact_keys()
    await compaction.run(settings=CompactionSettings(wal_age_ms_max=0, merge_files_min=2))
    assert len(await compaction.files()) == 1
    await compaction.compact_keys()
    assert as_text(await compaction.stream_rows()) == "1a- 3b2 4d1"
    await rig.settle(20)
    await _more(opened, compaction, "c1 c2")
    await compaction.compact_keys()
    assert as_text(await compaction.stream_rows()) == "3b2 4d1 6c2"


@simulated
async def test_small_key_limits_take_more_cycles_with_the_same_result(rig: Rig) -> None:
    _, compaction = await _filled(rig, "a1 b1", "a2 c1", "b2 a3", "c-")
    little = CompactionSettings(key_compaction_keys_max=2)
    ends = []
    for _ in range(4):
        await compaction.compact_keys(settings=little)
        ends.append((await compaction.state()).end_offset)
    assert ends == [2, 4, 6, 7]
    assert as_text(await compaction.stream_rows()) == "4b2 5a3 6c-" == as_text(compaction.table_rows())


@simulated
async def test_many_files_take_several_jobs(rig: Rig) -> None:
    _, compaction = await _filled(rig, "a1", "b1", "c1", "a2 b2 c2", "d-")
    few = CompactionSettings(key_compaction_files_max=2)
    await compaction.compact_keys(settings=few)
    cycle = (await compaction.state()).cycle
    assert cycle is not None
    assert (cycle.end_offset, cycle.done_offset) == (7, 2)
    assert as_text(await compaction.stream_rows()) == "2c1 3a2 4b2 5c2 6d-"
    for _ in range(2):
        await compaction.compact_keys(settings=few)
    assert (await compaction.state()).cycle is None
    assert [step.end_offset for step in (await compaction.state()).steps] == [7]
    assert (await compaction.state()).steps[0].tombstones_until_ms > 0
    assert as_text(await compaction.stream_rows()) == "3a2 4b2 5c2 6d-" == as_text(compaction.table_rows())


@simulated
async def test_file_with_deleted_rows_is_excluded(rig: Rig) -> None:
    opened, compaction = await _filled(rig, "a1 b1", "b2", "a-")
    (first, *_) = await compaction.files()
    compaction.catalog.external_delete_rows(table_of(TOPIC), first.path)
    await compaction.compact_keys()
    assert as_text(await compaction.stream_rows()) == "0a1 1b1 2b2 3a-"
    await rig.settle(RETENTION_S)
    await _more(opened, compaction, "c1 c2")
    await compaction.compact_keys()
    assert as_text(await compaction.stream_rows()) == "0a1 1b1 2b2 3a- 5c2"  # otherwise a1 would reappear
    await opened.log.trim(ONE, 2)
    await compaction.compact_keys()
    assert as_text(await compaction.stream_rows()) == "2b2 5c2"


@simulated
async def test_file_that_the_table_no_longer_references_is_excluded(rig: Rig) -> None:
    _, compaction = await _filled(rig, "a1", "a2 b1", "b2")
    (first, *_) = await compaction.files()
    compaction.catalog.external_commit(table_of(TOPIC), [first.path], [])
    report = await compaction.compact_keys()
    assert report.failures == []
    assert as_text(await compaction.stream_rows()) == "0a1 1a2 3b2"


async def _with_lost_object(rig: Rig) -> tuple[OpenLog, KeyCompaction, WalEntry, bytes]:
    """Lose the middle one of three objects; it shares keys with the objects before and after it."""
    opened = await rig.open()
    compaction = KeyCompaction(rig)
    for batch in ("a1 b1 c1", "a2 b2", "a3 b- d3"):
        await write(opened, batch)
    lost = (await rig.wal_entries(ONE))[1]
    whole = lose(rig, lost)
    await compaction.run(settings=EAGER)
    return opened, compaction, lost, whole


@simulated
async def test_tombstones_after_a_skipped_entry_are_retained(rig: Rig) -> None:
    opened, compaction, _, _ = await _with_lost_object(rig)
    assert (await compaction.compact_keys()).failures == []
    assert as_text(compaction.table_rows()) == "2c1 5a3 6b- 7d3"
    await rig.settle(2 * RETENTION_S)
    await write(opened, "d4")
    await compaction.run(settings=EAGER)
    for _ in range(2):
        await compaction.compact_keys()
    assert as_text(compaction.table_rows()) == "2c1 5a3 6b- 8d4"


@simulated
async def test_records_converted_late_are_compacted_and_their_tombstones_expire(rig: Rig) -> None:
    _, compaction, lost, whole = await _with_lost_object(rig)
    await compaction.compact_keys()
    restore(rig, lost, whole)
    await compaction.run(settings=EAGER)
    assert (await compaction.state()).end_offset == 3
    assert as_text(await compaction.stream_rows()) == "2c1 3a2 4b2 5a3 6b- 7d3"
    await compaction.compact_keys()
    assert as_text(await compaction.stream_rows()) == as_text(compaction.table_rows()) == "2c1 5a3 6b- 7d3"
    await rig.settle(2 * RETENTION_S)
    await compaction.compact_keys()
    assert as_text(await compaction.stream_rows()) == as_text(compaction.table_rows()) == "2c1 5a3 7d3"


@simulated
async def test_unreadable_stream_does_not_affect_the_others(rig: Rig) -> None:
    opened, compaction = await _filled(rig, "a1 a2")
    await write(opened, "x1 x2", TWO)
    await compaction.run()
    compaction.bad[ONE] = "object x is damaged"
    failing = compaction.key_compaction_round()
    report = await failing.run()
    assert (report.failures, failing.failed) == (["partition 0 of t: object x is damaged"], {ONE})
    assert as_text(await compaction.stream_rows(TWO)) == "1x2"
    assert as_text(await compaction.stream_rows()) == "0a1 1a2"
    compaction.bad.clear()
    await compaction.compact_keys()
    assert as_text(await compaction.stream_rows()) == "1a2"


@simulated
async def test_table_commit_whose_response_was_lost_is_not_repeated(rig: Rig) -> None:
    _, compaction = await _filled(rig, "a1 a2", "b1 b2")
    with pytest.raises(OutcomeUnknown):
        await compaction.compact_keys(faults=ScriptedFaults("replace", ["lost_answer"]))
    assert (await compaction.compact_keys()).files == 0
    await compaction.run()
    assert as_text(await compaction.stream_rows()) == "1a2 3b2" == as_text(compaction.table_rows())
    assert (await compaction.state()).end_offset == 4


@simulated
async def test_trimmed_records_are_not_restored(rig: Rig) -> None:
    opened, compaction = await _filled(rig, "a1 b1 c1", "b2 a2")
    await opened.log.trim(ONE, 1)
    await compaction.compact_keys()
    assert as_text(await compaction.stream_rows()) == "2c1 3b2 4a2"
    assert [file.start_offset for file in await compaction.files()] == [1, 3]


@simulated
async def test_trimmed_records_alone_do_not_cause_a_rewrite(rig: Rig) -> None:
    opened, compaction = await _filled(rig, "a1 b1", "a2")
    await opened.log.trim(ONE, 1)
    report = await compaction.compact_keys()
    assert (report.files, (await compaction.state()).end_offset) == (0, 3)


@simulated
async def test_cycle_may_end_inside_a_file(rig: Rig) -> None:
    _, compaction = await _filled(rig, "a1 b1 a2 b2 a3")
    little = CompactionSettings(key_compaction_keys_max=4)
    await compaction.compact_keys(settings=little)
    assert as_text(await compaction.stream_rows()) == "2a2 3b2 4a3"
    await compaction.compact_keys(settings=little)
    assert as_text(await compaction.stream_rows()) == "3b2 4a3"


@simulated
async def test_key_maps_are_deleted_at_the_end_of_the_job(rig: Rig) -> None:
    _, compaction = await _filled(rig, "a1 a2", "b1")
    await compaction.compact_keys()
    tasks = [type(task) for task in compaction.tasks]
    assert tasks == [KeyMapTask, FilterTask, FilterTask]
    assert not [path for path in rig.paths() if path.endswith(".keys")]


@simulated
async def test_retention_by_size_counts_records_left_by_key_compaction(rig: Rig) -> None:
    opened, compaction = await _filled(rig, "a1", *(["b1 b2 b3 b4"] * 4), "c1")
    size_bytes = sum(entry.ingested_bytes for entry in await rig.entries(ONE))
    policy = RetentionPolicy(retention_bytes=size_bytes // 2, is_compacted=True)
    await compaction.compact_keys()
    await retention_of(rig, opened, policy).run()
    assert as_text(await compaction.stream_rows()) == "0a1 16b4 17c1"
    await retention_of(rig, opened, RetentionPolicy(retention_bytes=1, is_compacted=True)).run()
    assert as_text(await compaction.stream_rows()) == "17c1"


@pytest.mark.slow
def test_crash_at_any_step_is_recovered_by_the_next_round() -> None:
    crash_at_every_step(_crash_once, _STEPS_MAX)


async def _crash_once(crash: CrashAtStep) -> bool:
    rig = Rig()
    opened, compaction = await _filled(rig, "a1 b1", "c1", "b2 d- a2")
    await write(opened, "x1 x2", TWO)
    await compaction.run(settings=CompactionSettings(wal_age_ms_max=0, merge_files_min=100))
    await opened.log.close()
    crash.node = Node("compactor")
    finished = True
    try:
        await crash.node.run(compaction.compact_keys(slow_stores=True))
    except NodeCrashed:
        finished = False
    await rig.settle()
    rows = as_text(await compaction.stream_rows())
    assert rows in {"0a1 1b1 2c1 3b2 4d- 5a2", "2c1 3b2 4d- 5a2"}
    await compaction.run(settings=CompactionSettings(wal_age_ms_max=0, merge_files_min=100))
    await compaction.compact_keys()
    assert as_text(await compaction.stream_rows()) == "2c1 3b2 4d- 5a2" == as_text(compaction.table_rows())
    assert as_text(await compaction.stream_rows(TWO)) == "1x2" == as_text(compaction.table_rows(1))
    assert (await compaction.state()).end_offset == 6
    await _check_consistency(rig, compaction)
    return finished


async def _check_consistency(rig: Rig, compaction: KeyCompaction) -> None:
    """Check that after a sweep the bucket holds the files of the index, and the table those with rows."""
    await rig.settle(100)
    files = FileSweep(
        rig.meta, MemoryObjects(rig.bucket), DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=1
    )
    await files.run()
    await files.run_strays()
    entries = [entry for stream in STREAMS for entry in await compaction.files(stream)]
    assert {path for path in rig.paths() if not path.endswith(".wo")} == {entry.path for entry in entries}
    in_table = {file.path for file in compaction.catalog.current(table_of(TOPIC)).files}
    assert in_table == {entry.path for entry in entries if entry.record_count}
    for stream in STREAMS:
        stored = await JobStore(rig.meta, 1).load(stream)
        assert stored is not None
        assert stored.job.state is JobState.DONE
