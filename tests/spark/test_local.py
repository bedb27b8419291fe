"""Compaction by a local Spark: content of the files, failures, and killed processes."""

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dray.compaction.engine import TaskFailure
from dray.compaction.rewrite import RewriteTask, Rewritten, Unconvertible
from dray.compaction.tasks import TaskOutput
from dray.index import WalEntry
from tests.log.builders import ONE, THREE, TWO
from tests.spark.logs import StoredLog
from tests.spark.processes import all_exited, becomes_true
from tests.spark.stores import hang_on_open, open_directory, open_killed_after_put

if TYPE_CHECKING:
    from dray.spark.engine import SparkEngine

pytestmark = pytest.mark.real("java", "spark")


def check(log: StoredLog, task: RewriteTask, answer: TaskOutput | TaskFailure) -> None:
    """Check that the file of a task exists, matches its description, and holds the records of its stream."""
    assert isinstance(answer, Rewritten), answer
    place = answer.file
    assert log.read(place.path) == log.records[task.stream]
    assert place.file_id.hex() in place.path
    assert (log.root / place.path).stat().st_size == place.size_bytes
    assert (log.root / place.path).stat().st_size == place.size_bytes
    assert (place.start_offset, place.end_offset) == (0, task.entries[-1].end_offset)
    assert place.record_count == len(log.records[task.stream])


async def test_files_contain_every_record_of_the_log(engine: "SparkEngine", log: StoredLog) -> None:
    progress: list[tuple[int, int]] = []
    tasks = log.tasks(1)
    answers = await engine.run_tasks(
        tasks, partial(open_directory, log.root), lambda done, of: progress.append((done, of))
    )
    for task, answer in zip(tasks, answers, strict=True):
        check(log, task, answer)
        assert answer.file.path == task.path  # type: ignore[union-attr]
    assert progress == sorted(progress)
    assert progress[-1] == (3, 3)


async def test_no_tasks_need_no_spark(engine: "SparkEngine", log: StoredLog) -> None:
    assert await engine.run_tasks([], partial(open_directory, log.root)) == []


async def test_damaged_object_fails_only_its_stream(engine: "SparkEngine", log: StoredLog) -> None:
    entry = log.entries[TWO][3]
    assert isinstance(entry, WalEntry)
    wal = log.root / entry.wal_path
    damaged = bytearray(wal.read_bytes())
    damaged[entry.chunk_offset + entry.chunk_length - 1] ^= 1
    wal.write_bytes(damaged)
    tasks = log.tasks(1)
    one, two, three = await engine.run_tasks(tasks, partial(open_directory, log.root))
    check(log, tasks[0], one)
    check(log, tasks[2], three)
    assert isinstance(two, Unconvertible)
    assert f"the batch at offset {entry.start_offset} is damaged" in two.entries[0].reason
    assert not (log.root / tasks[1].path).exists()


async def test_missing_object_is_reported_by_path(engine: "SparkEngine", log: StoredLog) -> None:
    (log.root / log.entries[ONE][0].path).unlink()
    (one,) = await engine.run_tasks([log.task(ONE, 1)], partial(open_directory, log.root))
    assert isinstance(one, Unconvertible)
    assert one.entries[0].path == log.entries[ONE][0].path


async def test_store_that_cannot_be_opened_is_reported(engine: "SparkEngine", log: StoredLog) -> None:
    answers = await engine.run_tasks(log.tasks(1), partial(open_directory, log.root / "nowhere"))
    assert all(isinstance(answer, TaskFailure) and "nowhere" in answer.reason for answer in answers)


def marks(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / str(number)).touch()
    return folder


async def test_retry_of_a_worker_killed_after_its_put_uses_another_path(
    engine: "SparkEngine", log: StoredLog, tmp_path: Path
) -> None:
    left = marks(tmp_path / "marks", 1)
    tasks = log.tasks(1)
    answers = await engine.run_tasks(tasks, partial(open_killed_after_put, log.root, f"topic-{TWO}", left))
    assert not list(left.iterdir())
    for task, answer in zip(tasks, answers, strict=True):
        check(log, task, answer)
    paths = [answer.file.path for answer in answers if isinstance(answer, Rewritten)]
    assert [path == task.path for path, task in zip(paths, tasks, strict=True)] == [True, False, True]
    assert (
        log.read(tasks[1].path) == log.records[TWO]
    )  # written by the first attempt, which returned no result


async def test_task_that_kills_every_worker_does_not_block_the_others(
    engine: "SparkEngine", log: StoredLog, tmp_path: Path
) -> None:
    left = marks(tmp_path / "marks", 100)
    tasks = log.tasks(1)
    one, two, three = await engine.run_tasks(
        tasks, partial(open_killed_after_put, log.root, f"topic-{THREE}", left)
    )
    assert len(list(left.iterdir())) == 97
    check(log, tasks[0], one)
    check(log, tasks[1], two)
    assert isinstance(three, TaskFailure)
    assert tasks[2].path in three.reason
    assert "3 attempts: Python worker exited unexpectedly" in three.reason


def pids_in(folder: Path) -> set[int]:
    return {int(path.name) for path in folder.iterdir()}


async def test_cancelling_the_caller_cancels_the_job(
    engine: "SparkEngine", log: StoredLog, tmp_path: Path
) -> None:
    pids = marks(tmp_path / "pids", 0)
    job = asyncio.create_task(engine.run_tasks(log.tasks(1), partial(hang_on_open, pids)))
    assert await asyncio.to_thread(becomes_true, lambda: bool(pids_in(pids)), 60)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert await asyncio.to_thread(all_exited, pids_in(pids))
    (one,) = await engine.run_tasks([log.task(ONE, 1)], partial(open_directory, log.root))
    check(log, log.task(ONE, 1), one)


async def test_session_stopped_by_the_master_is_replaced(engine: "SparkEngine", log: StoredLog) -> None:
    """The JVM keeps running."""
    await engine.run_tasks([log.task(ONE, 3)], partial(open_directory, log.root))
    host = engine._host
    assert host is not None
    host.session.sparkContext._jsc.sc().stop()
    assert not host.lost
    (again,) = await engine.run_tasks([log.task(ONE, 4)], partial(open_directory, log.root))
    check(log, log.task(ONE, 4), again)
    assert host.lost


async def test_jvm_that_exited_is_replaced(engine: "SparkEngine", log: StoredLog) -> None:
    (first,) = await engine.run_tasks([log.task(ONE, 1)], partial(open_directory, log.root))
    host = engine._host
    assert host is not None
    host._jvm._process.kill()
    host._jvm._process.wait()
    (second,) = await engine.run_tasks([log.task(ONE, 2)], partial(open_directory, log.root))
    check(log, log.task(ONE, 1), first)
    check(log, log.task(ONE, 2), second)
