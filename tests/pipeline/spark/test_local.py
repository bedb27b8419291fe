"""Files written by Spark on this machine: what is in them, what goes wrong, and what dies on the way."""

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dray.index import WalEntry
from dray.pipeline.engine import TaskFailed
from dray.pipeline.rewrite import Rewritten, SpanTask
from dray.pipeline.work import Answer
from tests.log.builders import ONE, THREE, TWO
from tests.pipeline.spark.logs import StoredLog
from tests.pipeline.spark.processes import all_gone, becomes_true
from tests.pipeline.spark.stores import open_directory, open_dying, open_never

if TYPE_CHECKING:
    from dray.pipeline.spark.job import SparkEngine

pytestmark = pytest.mark.real("java", "spark")


def check(log: StoredLog, task: SpanTask, answer: Answer | TaskFailed) -> None:
    """The file of a task is there, is described rightly, and holds the records of its stream."""
    assert isinstance(answer, Rewritten), answer
    place = answer.place
    assert log.read(place.path) == log.records[task.stream]
    assert place.file_id.hex() in place.path
    assert (log.root / place.path).stat().st_size == place.size_bytes
    assert (log.root / place.path).stat().st_size == place.size_bytes
    assert (place.start_offset, place.end_offset) == (0, task.entries[-1].end_offset)
    assert place.record_count == len(log.records[task.stream])


async def test_every_record_of_the_log_is_in_the_files(engine: "SparkEngine", log: StoredLog) -> None:
    told: list[tuple[int, int]] = []
    tasks = log.tasks(1)
    answers = await engine.perform(
        tasks, partial(open_directory, log.root), lambda done, of: told.append((done, of))
    )
    for task, answer in zip(tasks, answers, strict=True):
        check(log, task, answer)
        assert answer.place.path == task.path  # type: ignore[union-attr]
    assert told == sorted(told)
    assert told[-1] == (3, 3)


async def test_nothing_to_do_needs_no_spark(engine: "SparkEngine", log: StoredLog) -> None:
    assert await engine.perform([], partial(open_directory, log.root)) == []


async def test_a_damaged_object_fails_its_own_stream_alone(engine: "SparkEngine", log: StoredLog) -> None:
    entry = log.entries[TWO][3]
    assert isinstance(entry, WalEntry)
    wal = log.root / entry.wal_path
    damaged = bytearray(wal.read_bytes())
    damaged[entry.chunk_offset + entry.chunk_length - 1] ^= 1
    wal.write_bytes(damaged)
    tasks = log.tasks(1)
    one, two, three = await engine.perform(tasks, partial(open_directory, log.root))
    check(log, tasks[0], one)
    check(log, tasks[2], three)
    assert isinstance(two, TaskFailed)
    assert f"the batch at offset {entry.start_offset} is damaged" in two.why
    assert not (log.root / tasks[1].path).exists()


async def test_a_missing_object_is_told_by_name(engine: "SparkEngine", log: StoredLog) -> None:
    (log.root / log.entries[ONE][0].path).unlink()
    (one,) = await engine.perform([log.task(ONE, 1)], partial(open_directory, log.root))
    assert isinstance(one, TaskFailed)
    assert log.entries[ONE][0].path in one.why


async def test_a_store_that_cannot_be_opened_is_told(engine: "SparkEngine", log: StoredLog) -> None:
    answers = await engine.perform(log.tasks(1), partial(open_directory, log.root / "nowhere"))
    assert all(isinstance(answer, TaskFailed) and "nowhere" in answer.why for answer in answers)


def marks(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / str(number)).touch()
    return folder


async def test_a_worker_killed_behind_its_put_is_followed_by_one_with_another_name(
    engine: "SparkEngine", log: StoredLog, tmp_path: Path
) -> None:
    left = marks(tmp_path / "marks", 1)
    tasks = log.tasks(1)
    answers = await engine.perform(tasks, partial(open_dying, log.root, f"topic-{TWO}", left))
    assert not list(left.iterdir())
    for task, answer in zip(tasks, answers, strict=True):
        check(log, task, answer)
    paths = [answer.place.path for answer in answers if isinstance(answer, Rewritten)]
    assert [path == task.path for path, task in zip(paths, tasks, strict=True)] == [True, False, True]
    assert log.read(tasks[1].path) == log.records[TWO]  # the first attempt's, which nobody answers for


async def test_a_stream_that_kills_every_worker_does_not_hold_up_the_others(
    engine: "SparkEngine", log: StoredLog, tmp_path: Path
) -> None:
    left = marks(tmp_path / "marks", 100)
    tasks = log.tasks(1)
    one, two, three = await engine.perform(tasks, partial(open_dying, log.root, f"topic-{THREE}", left))
    assert len(list(left.iterdir())) == 97
    check(log, tasks[0], one)
    check(log, tasks[1], two)
    assert isinstance(three, TaskFailed)
    assert tasks[2].path in three.why
    assert "3 attempts: Python worker exited unexpectedly" in three.why


def pids_in(folder: Path) -> set[int]:
    return {int(path.name) for path in folder.iterdir()}


async def test_a_job_whose_caller_is_cancelled_is_taken_back(
    engine: "SparkEngine", log: StoredLog, tmp_path: Path
) -> None:
    pids = marks(tmp_path / "pids", 0)
    job = asyncio.create_task(engine.perform(log.tasks(1), partial(open_never, pids)))
    assert await asyncio.to_thread(becomes_true, lambda: bool(pids_in(pids)), 60)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert await asyncio.to_thread(all_gone, pids_in(pids))
    (one,) = await engine.perform([log.task(ONE, 1)], partial(open_directory, log.root))
    check(log, log.task(ONE, 1), one)


async def test_a_session_that_somebody_ended_is_replaced(engine: "SparkEngine", log: StoredLog) -> None:
    """As a master does that has had enough of us; the JVM lives on."""
    await engine.perform([log.task(ONE, 3)], partial(open_directory, log.root))
    host = engine._host
    assert host is not None
    host.session.sparkContext._jsc.sc().stop()
    assert not host.lost
    (again,) = await engine.perform([log.task(ONE, 4)], partial(open_directory, log.root))
    check(log, log.task(ONE, 4), again)
    assert host.lost


async def test_a_jvm_that_died_is_replaced(engine: "SparkEngine", log: StoredLog) -> None:
    (first,) = await engine.perform([log.task(ONE, 1)], partial(open_directory, log.root))
    host = engine._host
    assert host is not None
    host._jvm._process.kill()
    host._jvm._process.wait()
    (second,) = await engine.perform([log.task(ONE, 2)], partial(open_directory, log.root))
    check(log, log.task(ONE, 1), first)
    check(log, log.task(ONE, 2), second)
