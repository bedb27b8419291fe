"""Unconvertible WAL entries: they stay in the WAL, and everything around them is compacted."""

import msgspec
import pytest

from dray.cli.render.compaction import as_text
from dray.cluster.identity_plan import MARK_PATH
from dray.compaction.job_store import JobStore
from dray.compaction.rewrite import RewriteTask
from dray.compaction.skipped import (
    NAMED_MAX,
    SkippedEnds,
    UnconvertibleEntry,
    skipped_records,
    still_skipped,
    with_skipped,
)
from dray.compaction.tasks import Task
from dray.ids import FileId
from dray.index import IndexEntry, ParquetEntry, SkippedRange
from dray.log import LogDamaged
from dray.maintenance.status import PartitionStatus, status_of
from dray.objects.memory import MemoryObjects
from dray.objects.port import StoreUnusable
from dray.sweep.files import FileSweep
from dray.sweep.wal import WalSweep
from dray.testing.nodes import Node, NodeCrashed
from tests.compaction.builders import parquet_entry, wal_entry
from tests.compaction.crashes import CrashAtStep, crash_at_every_step
from tests.compaction.damage import DAMAGES, Damage, flip, lose, restore, unreadable
from tests.compaction.passes import CompactorRig, compactor_rig
from tests.compaction.rounds import EAGER, UNMERGED, Compaction
from tests.log.builders import DOMAIN, ONE, OpenLog, Rig, simulate, simulated
from tests.log.compacting import records

_STEPS_MAX = 150


async def _filled(rig: Rig, count: int = 5) -> OpenLog:
    """Write objects of two records each, all with other times."""
    opened = await rig.open()
    for number in range(count):
        await opened.append(f"a{number}", ONE, records=2)
        await rig.settle(0.01)
    return opened


async def _kinds(rig: Rig) -> list[tuple[str, int, int]]:
    return [
        ("file" if isinstance(entry, ParquetEntry) else "wal", entry.start_offset, entry.end_offset)
        for entry in await rig.entries(ONE)
    ]


async def _skipped(rig: Rig) -> tuple[SkippedRange, ...]:
    stored = await JobStore(rig.meta, 1).load(ONE)
    return () if stored is None else stored.job.skipped


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_ranges_before_and_after_a_damaged_object_are_compacted(damage: Damage) -> None:
    @simulated
    async def body(rig: Rig) -> None:
        opened = await _filled(rig)
        before = await records(opened)
        damaged = (await rig.wal_entries(ONE))[2]
        damage(rig, damaged)
        compaction = Compaction(rig)
        report = await compaction.run()
        assert (report.files, report.records, report.failures, report.skipped_records) == (2, 8, [], 2)
        (message,) = report.skipped
        assert f"partition 0 of t: offsets 4 to 5 are in {damaged.path}: " in message
        assert compaction.table() == {0: [(0, 3), (6, 9)]}
        assert await _kinds(rig) == [("file", 0, 4), ("wal", 4, 6), ("file", 6, 10)]
        fresh = await rig.open("reader")
        assert await records(fresh, ONE, 6) == before[6:]
        with pytest.raises(LogDamaged):
            await fresh.log.read(ONE, 4, 1)

    body()


@simulated
async def test_entry_with_an_unreadable_batch_stays_unchanged(rig: Rig) -> None:
    opened = await _filled(rig, 2)
    await (await opened.log.append(ONE, unreadable(rig.clock.now_ms())))
    await opened.append("last")
    before = await opened.log.read(ONE, 4, 1)
    (*_, bad, _) = await rig.entries(ONE)
    await Compaction(rig).run()
    assert await _kinds(rig) == [("file", 0, 4), ("wal", 4, 6), ("file", 6, 7)]
    assert bad in await rig.entries(ONE)
    (skipped,) = await _skipped(rig)
    assert (skipped.start_offset, skipped.end_offset, skipped.path) == (4, 6, bad.path)
    assert "the batch at offset 4 cannot become rows" in skipped.reason
    fresh = await rig.open("reader")
    after = await fresh.log.read(ONE, 4, 1)
    assert b"".join(after.parts) == b"".join(before.parts)


@simulated
async def test_range_without_convertible_entries_is_skipped_entirely(rig: Rig) -> None:
    await _filled(rig, 2)
    for entry in await rig.wal_entries(ONE):
        lose(rig, entry)
    compaction = Compaction(rig)
    report = await compaction.run()
    assert (report.files, report.failures, len(report.skipped)) == (0, [], 2)
    assert [(one.start_offset, one.end_offset) for one in await _skipped(rig)] == [(0, 4)]
    assert compaction.table() == {}


@simulated
async def test_restored_object_is_compacted(rig: Rig) -> None:
    opened = await _filled(rig)
    before = await records(opened)
    damaged = (await rig.wal_entries(ONE))[2]
    whole = lose(rig, damaged)
    compaction = Compaction(rig)
    await compaction.run()
    restore(rig, damaged, whole)
    report = await compaction.run("later", settings=UNMERGED)
    assert (report.files, report.skipped_records) == (1, 0)
    assert compaction.table() == {0: [(0, 3), (4, 5), (6, 9)]}
    assert await _skipped(rig) == ()
    assert await records(await rig.open("reader")) == before


@simulated
async def test_ranges_around_an_unreadable_object_are_compacted(rig: Rig) -> None:
    await _filled(rig)
    rig.bucket.put_new(MARK_PATH, [b"{}"])
    unread = (await rig.wal_entries(ONE))[2]
    compaction = Compaction(rig)
    compaction.forbidden = {unread.path}
    report = await compaction.run()
    assert (report.files, report.records, report.failures, report.skipped_records) == (2, 8, [], 2)
    (skipped,) = await _skipped(rig)
    assert (skipped.start_offset, skipped.end_offset, skipped.path) == (4, 6, unread.path)
    assert skipped.reason == f"the object cannot be read: {unread.path}: Input/output error"
    compaction.forbidden.clear()
    report = await compaction.run("later", settings=UNMERGED)
    assert (report.files, report.skipped_records) == (1, 0)
    assert compaction.table() == {0: [(0, 3), (4, 5), (6, 9)]}


@simulated
async def test_store_without_a_readable_mark_fails_the_round(rig: Rig) -> None:
    await _filled(rig)
    rig.bucket.put_new(MARK_PATH, [b"{}"])
    compaction = Compaction(rig)
    compaction.forbidden = {MARK_PATH, (await rig.wal_entries(ONE))[2].path}
    with pytest.raises(StoreUnusable, match="Input/output error"):
        await compaction.run()
    assert await _skipped(rig) == ()


@simulated
async def test_unreadable_file_is_damage_and_names_its_path(rig: Rig) -> None:
    await _filled(rig, 1)
    rig.bucket.put_new(MARK_PATH, [b"{}"])
    compaction = Compaction(rig)
    await compaction.run()
    (file,) = await rig.entries(ONE)
    compaction.forbidden = {file.path}
    task = RewriteTask(ONE, 0, (file,), 0, FileId(bytes(16)), "x.parquet")
    with pytest.raises(LogDamaged, match="the object cannot be read") as raised:
        await compaction.run_tasks([task])
    assert raised.value.path == file.path


@simulated
async def test_files_are_merged_on_both_sides_of_a_skipped_entry(rig: Rig) -> None:
    opened = await _filled(rig, 1)
    compaction = Compaction(rig)
    await compaction.run()
    for number in range(1, 7):
        await opened.append(f"a{number}", ONE, records=2)
        if number == 3:
            lose(rig, (await rig.wal_entries(ONE))[0])
        await compaction.run(f"c{number}")
    assert await _kinds(rig) == [("file", 0, 6), ("wal", 6, 8), ("file", 8, 14)]
    assert compaction.table() == {0: [(0, 5), (8, 13)]}


class _Attempts:
    """Records when an entry is part of a task."""

    def __init__(self, compaction: Compaction, end_offset: int) -> None:
        self.at: list[float] = []
        self._compaction = compaction
        self._end_offset = end_offset
        self._run_tasks = compaction.run_tasks

    async def run_tasks(self, tasks: list[Task]) -> list[object]:
        ends = {entry.end_offset for task in tasks for entry in getattr(task, "entries", ())}
        if self._end_offset in ends:
            self.at.append(round(self._compaction.rig.clock.monotonic()))
        return await self._run_tasks(tasks)  # type: ignore[return-value]


@simulated
async def test_skipped_entry_is_retried_with_backoff_and_delays_nothing_else(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    damaged = (await rig.wal_entries(made.stream("one")))[0]
    whole = flip(rig, damaged)
    attempts = _Attempts(made.compaction, damaged.end_offset)
    made.compaction.run_tasks = attempts.run_tasks  # type: ignore[method-assign, assignment]
    began = round(rig.clock.monotonic())
    for second in range(60):
        if second % 10 == 0:
            await made.opened.append(f"more{second}", made.stream("one"))
        (result,) = await made.run_pass(settings=UNMERGED)
        assert (result.failure, result.report.failures) == ("", [])
        assert result.report.records == (second % 10 == 0) + (second == 0)
        assert made.counted("skipped_records", topic="one") == 1
        assert made.counted("lag_seconds", topic="one") == 0
        await rig.settle(1)
    assert [at - began for at in attempts.at] == [0, 5, 15, 35]
    assert made.counted("last_success_seconds") > 0
    restore(rig, damaged, whole)
    await rig.settle(60)
    await made.run_pass()
    assert made.counted("skipped_records", topic="one") == 0
    assert not await rig.wal_entries(made.stream("one"))


@simulated
async def test_entry_is_tried_once_per_round_however_short_the_backoff(rig: Rig) -> None:
    await _filled(rig)
    damaged = (await rig.wal_entries(ONE))[2]
    flip(rig, damaged)
    compaction = Compaction(rig)
    attempts = _Attempts(compaction, damaged.end_offset)
    compaction.run_tasks = attempts.run_tasks  # type: ignore[method-assign, assignment]
    settings = msgspec.structs.replace(EAGER, retry_backoff_ms_min=1, retry_backoff_ms_max=1)
    report = await compaction.run(settings=settings, slow_stores=True)
    assert (report.files, report.records, report.skipped_records) == (2, 8, 2)
    assert len(attempts.at) == len(report.skipped) == 1
    assert await _kinds(rig) == [("file", 0, 4), ("wal", 4, 6), ("file", 6, 10)]
    assert [one.end_offset for one in await _skipped(rig)] == [6]


@simulated
async def test_stream_with_only_skipped_entries_left_is_not_read_in_every_pass(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    flip(rig, (await rig.wal_entries(made.stream("one")))[0])
    for _ in range(2):  # the first one is followed by an audit
        await made.run_pass()
    compactor, _ = made._compactors["a"]
    assert list(compactor._state.idle_streams) == [made.stream("one")]


async def _status(made: CompactorRig, topic: str = "one") -> PartitionStatus:
    (partition,) = (await status_of(made.rig.meta, 1, made.found(topic))).partitions
    return partition


@simulated
async def test_status_lists_skipped_ranges_with_reason_and_time(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    damaged = (await rig.wal_entries(made.stream("one")))[0]
    lose(rig, damaged)
    skipped_ms = rig.clock.now_ms()
    await made.run_pass()
    status = await _status(made)
    (skipped,) = status.skipped
    assert (skipped.start_offset, skipped.end_offset, skipped.path) == (0, 1, damaged.path)
    assert skipped.reason == "there is no such object"
    assert 0 <= skipped.since_ms - skipped_ms < 100
    assert status.backlog.entries == 0
    await made.opened.append("more", made.stream("one"))
    await rig.settle(10)
    await made.run_pass("another process")
    assert (await _status(made)).skipped == (skipped,), "it keeps the time of the first skip"
    await made.opened.append("more", made.stream("one"))
    assert (await _status(made)).backlog.records == 1
    await made.opened.log.trim(made.stream("one"), 1)
    assert (await _status(made)).skipped == ()
    await made.run_pass()
    assert made.counted("skipped_records", topic="one") == 0
    stored = await JobStore(rig.meta, 1).load(made.stream("one"))
    assert stored is not None
    assert stored.job.skipped == ()


@simulated
async def test_object_is_kept_while_one_of_its_entries_is_skipped(rig: Rig) -> None:
    opened = await _filled(rig)
    damaged = (await rig.wal_entries(ONE))[2]
    flip(rig, damaged)
    compaction = Compaction(rig)
    await compaction.run()
    await rig.settle(100)
    objects = MemoryObjects(rig.bucket)
    await WalSweep(rig.meta, objects, DOMAIN, rig.clock, 1).run()
    assert [path for path in rig.paths() if path.startswith("wal/")] == [damaged.path]
    await opened.log.trim(ONE, 6)
    await rig.settle(10_000)
    await WalSweep(rig.meta, objects, DOMAIN, rig.clock, 1).run()
    assert [path for path in rig.paths() if path.startswith("wal/")] == []


def test_crash_at_any_step_is_recovered_despite_a_damaged_object() -> None:
    crash_at_every_step(_crash_once, _STEPS_MAX)


async def _crash_once(crash: CrashAtStep) -> bool:
    rig = Rig()
    opened = await _filled(rig)
    before = await records(opened)
    await opened.log.close()
    damaged = (await rig.wal_entries(ONE))[2]
    whole = flip(rig, damaged)
    compaction = Compaction(rig)
    crash.node = Node("compactor")
    finished = True
    try:
        await crash.node.run(compaction.run("crashing", slow_stores=True))
    except NodeCrashed:
        finished = False
    await rig.settle()
    await compaction.run("survivor")
    assert await _kinds(rig) == [("file", 0, 4), ("wal", 4, 6), ("file", 6, 10)]
    assert compaction.table() == {0: [(0, 3), (6, 9)]}
    assert [(one.start_offset, one.end_offset) for one in await _skipped(rig)] == [(4, 6)]
    await _sweep(rig)
    fresh = await rig.open("reader")
    assert await records(fresh, ONE, 6) == before[6:]
    restore(rig, damaged, whole)
    await compaction.run("once restored", settings=UNMERGED)
    assert compaction.table() == {0: [(0, 3), (4, 5), (6, 9)]}
    assert await records(await rig.open("another reader")) == before
    return finished


async def _sweep(rig: Rig) -> None:
    """Delete all unreferenced objects."""
    await rig.settle(100)
    objects = MemoryObjects(rig.bucket)
    files = FileSweep(rig.meta, objects, DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=1)
    await files.run()
    await files.run_strays()
    await WalSweep(rig.meta, objects, DOMAIN, rig.clock, 1).run()


# Skipped ranges in the job record


def _failed(end: int, reason: str = "no") -> UnconvertibleEntry:
    return UnconvertibleEntry(end - 1, end, f"wal/{end}.wo", reason)


def test_range_keeps_the_time_at_which_it_was_first_skipped() -> None:
    first = with_skipped((), [_failed(9), _failed(3)], 100)
    assert [(one.end_offset, one.since_ms) for one in first] == [(3, 100), (9, 100)]
    again = with_skipped(first, [_failed(9, "other"), _failed(5)], 200)
    assert [(one.end_offset, one.since_ms, one.reason) for one in again] == [
        (3, 100, "no"),
        (5, 200, "no"),
        (9, 100, "other"),
    ]


def test_number_of_named_ranges_is_limited_and_all_are_counted() -> None:
    ends = range(2, 4 * NAMED_MAX, 2)
    skipped = with_skipped((), [_failed(end) for end in ends], 1)
    assert [one.end_offset for one in skipped] == list(ends)
    assert skipped_records(skipped) == len(ends)
    assert [one.end_offset for one in skipped if one.path] == list(ends[:NAMED_MAX])
    assert all(end in SkippedEnds(skipped) for end in ends)
    entries: list[IndexEntry] = [wal_entry(end - 1, end) for end in ends]
    assert [one.end_offset for one in still_skipped(skipped, entries)] == list(ends)


def test_first_ranges_of_every_kind_are_named() -> None:
    many = [_failed(end, f"the batch at offset {end} is odd") for end in range(2, 4 * NAMED_MAX, 2)]
    skipped = with_skipped((), [*many, _failed(9_000, "lost")], 1)
    skipped = with_skipped(skipped, [_failed(9_002, "truncated")], 2)
    assert [one.reason for one in skipped if one.path][-2:] == ["lost", "truncated"]
    assert sum(bool(one.path) for one in skipped) == NAMED_MAX


def test_adjacent_ranges_with_the_same_kind_of_reason_are_merged() -> None:
    odd = [_failed(end, f"the batch at offset {end - 1} is odd, CRC 0a{end}") for end in (3, 1, 2, 4)]
    (whole,) = with_skipped((), odd, 100)
    assert (whole.start_offset, whole.end_offset, whole.path) == (0, 4, "wal/1.wo")
    entries: list[IndexEntry] = [wal_entry(0, 1), wal_entry(1, 2), parquet_entry(2, 3), wal_entry(3, 4)]
    left = still_skipped((whole,), entries)
    assert [(one.start_offset, one.end_offset, one.since_ms) for one in left] == [(0, 2, 100), (3, 4, 100)]
    again = with_skipped((whole,), [_failed(2, "lost")], 200)
    assert [(one.start_offset, one.end_offset, one.reason == "lost", one.since_ms) for one in again] == [
        (0, 1, False, 100),
        (1, 2, True, 100),
        (2, 4, False, 100),
    ]


def test_skipped_entries_beyond_the_named_ones_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dray.compaction.skipped.NAMED_MAX", 2)
    simulate(_skip_more_than_are_named)


async def _skip_more_than_are_named(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    stream = made.stream("one")
    for number in range(7):
        await made.opened.append(f"more{number}", stream)
    for entry in (await rig.wal_entries(stream))[::2]:
        lose(rig, entry)
    await made.run_pass(settings=UNMERGED)
    await rig.settle(100)
    await made.run_pass(settings=UNMERGED)
    status = await _status(made)
    assert (status.backlog.entries, len(status.skipped), status.skipped_entries) == (0, 5, (1,) * 5)
    assert sum(bool(one.path) for one in status.skipped) == 2
    assert made.counted("skipped_records", topic="one") == 5
    assert made.counted("lag_seconds", topic="one") == 0
    text = as_text([await status_of(rig.meta, 1, made.found("one"))], rig.clock.now_ms())
    assert text.endswith("partition 0: and 3 more ranges between offsets 4 and 8, 3 records")


def test_range_that_left_the_wal_is_no_longer_skipped() -> None:
    skipped = with_skipped((), [_failed(10), _failed(20), _failed(30)], 1)
    entries: list[IndexEntry] = [parquet_entry(9, 10), wal_entry(10, 20)]
    assert [one.end_offset for one in still_skipped(skipped, entries)] == [20]
