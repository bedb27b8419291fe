"""Many tasks at once, as one Spark job; most of them write a file each.

Tasks answer for themselves, also when they fail (`worker`). If Spark gives up on a task because its worker
died again and again, that one is left out and the rest is done once more, a few times at most: a stream whose
records do not fit into a worker's memory must not hold up the others.
"""

import asyncio
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dray.pipeline.blocking import StorageAccess
from dray.pipeline.engine import TaskFailed
from dray.pipeline.spark.jvm import SparkFailed
from dray.pipeline.spark.session import SparkHost
from dray.pipeline.spark.settings import SparkSettings, usual_cache
from dray.pipeline.spark.watching import JobWatch, Note
from dray.pipeline.spark.worker import ANSWER_DDL, TaskWork, Told, decode_answer, encode_task
from dray.pipeline.work import Answer, Task, reads_of
from dray.runtime import Clock, Entropy, Tasks, ThreadsStopped

_ROUNDS_MAX: Final = 4
_GAVE_UP: Final = re.compile(r"Task (\d+) in stage \S+ failed (\d+) times")
_rows: Final = msgspec.json.Decoder(list[tuple[Told]])
_CAUSE: Final = re.compile(r"most recent failure: .*?\): (?:[\w.$]+: )?([^\n]*)")


def _keep_quiet(done: int, of: int) -> None: ...


def _nothing() -> None: ...


class JobFailed(Exception):
    """Spark gave the job up; `task` is the one that it could not get done, if it told."""

    def __init__(self, told: str, task: int | None) -> None:
        super().__init__(told)
        self.task = task


@dataclass(frozen=True, slots=True)
class EngineParts:
    """What an engine is given."""

    clock: Clock
    entropy: Entropy
    tasks: Tasks
    settings: SparkSettings
    cache: Path | None = None
    """Where starts leave what makes the next one quicker; None is the user's own cache folder."""


class SparkEngine:
    """Does tasks with Spark. The first call starts it, and so does the next one after it was lost."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts
        self._host: SparkHost | None = None
        self._starting = asyncio.Lock()

    async def perform(
        self, tasks: Sequence[Task], storage: StorageAccess, note: Note = _keep_quiet
    ) -> list[Answer | TaskFailed]:
        """Do tasks of any kind; answers stand beside the tasks.

        Raises what `SparkHost.start` does, and `SparkFailed` when nobody works on the job. When the caller is
        cancelled, the job is taken back.
        """
        answers: dict[int, Answer | TaskFailed] = {}
        left = sorted(range(len(tasks)), key=lambda one: -_read_bytes(tasks[one]))  # no long one comes last
        for _ in range(_ROUNDS_MAX):
            if not left:
                break
            so_far = len(tasks) - len(left)
            try:
                done = await self._round([tasks[one] for one in left], storage, _beyond(so_far, note))
            except JobFailed as failed:
                culprits = left if failed.task is None else [left[failed.task]]
                answers |= {
                    one: TaskFailed(f"{tasks[one].path} is not written: {failed}") for one in culprits
                }
            else:
                answers |= dict(zip(left, done, strict=True))
            left = [one for one in left if one not in answers]
        too_many = TaskFailed("not written: Spark gave up on too many files of the same job")
        return [answers.get(one, too_many) for one in range(len(tasks))]

    async def close(self) -> None:
        """End Spark and its JVM."""
        async with self._starting:
            host, self._host = self._host, None
            if host is not None:
                await host.close()

    async def _running(self) -> SparkHost:
        async with self._starting:
            if self._host is not None and not await self._host.is_usable():
                await self._host.close()
                self._host = None
            if self._host is None:
                cache = self._parts.cache or usual_cache(os.environ)
                self._host = await SparkHost.start(self._parts.settings, cache, self._parts.clock)
            return self._host

    async def _round(
        self, tasks: Sequence[Task], storage: StorageAccess, note: Note
    ) -> list[Answer | TaskFailed]:
        """Run one job and tell of its progress."""
        host = await self._running()
        group = f"dray-{self._parts.entropy.token(8).hex()}"
        work = TaskWork(tuple(map(encode_task, tasks)), storage)
        watch = JobWatch(host, group, self._parts.clock)
        watching = self._parts.tasks.start(watch.run(len(tasks), note), name="spark-progress")
        try:
            answers = await host.run(_collect, host.session, group, work, len(tasks))
        except asyncio.CancelledError:
            await host.ask(_take_back, host.session, group)
            raise
        except JobFailed as failed:
            if watch.gave_up:
                raise SparkFailed(watch.gave_up) from failed
            raise
        finally:
            watching.cancel()
            with suppress(ThreadsStopped):
                await host.ask(_nothing)  # what it has asked last is answered: nothing of it is left behind
        note(len(tasks), len(tasks))
        return answers


def _read_bytes(task: Task) -> int:
    return sum(read.at.length for read in reads_of(task))


def _beyond(so_far: int, note: Note) -> Note:
    """Count what is done in a job on top of what was done before it."""
    return lambda done, of: note(so_far + done, so_far + of)


def _collect(session: SparkSession, group: str, work: TaskWork, total: int) -> list[Answer | TaskFailed]:
    """Run the job. Blocks; raises `JobFailed`."""
    try:
        session.sparkContext.setJobGroup(group, "dray compaction", interruptOnCancel=True)
        frame = session.range(0, total, 1, total).mapInArrow(work, ANSWER_DDL)
        # Not `collect`, which leaves its socket to the garbage collector, and Python warns of that. And all
        # answers at once: each that is longer than a packet is waited for 40 ms. As text they are JSON.
        told = _rows.decode(frame._jdf.collectAsList().toString())  # noqa: SLF001 - pyspark has no other way
    except (Py4JError, PySparkException, OSError) as error:
        raise _failed(str(error)) from error
    answers = {one.task: _answer(one) for (one,) in told}
    return [answers[number] for number in range(total)]


def _answer(told: Told) -> Answer | TaskFailed:
    return TaskFailed(told.failed or "", told.damaged) if told.answer is None else decode_answer(told.answer)


def _failed(told: str) -> JobFailed:
    """Read out of Spark's page of text what happened, and to which task."""
    if found := _GAVE_UP.search(told):
        return JobFailed(f"Spark gave up after {found[2]} attempts: {_cause(told)}", int(found[1]))
    return JobFailed(f"the Spark job failed: {told.strip().splitlines()[0]}", None)


def _cause(told: str) -> str:
    """Return the line of a lost task that tells why; Spark puts it behind the name of a Java class."""
    found = _CAUSE.search(told)
    return found[1].strip() if found else "it did not say why"


def _take_back(session: SparkSession, group: str) -> None:
    """Have Spark end the job. One that it has not begun yet it will do; the sweep finds the files."""
    with suppress(Py4JError, OSError):
        session.sparkContext.cancelJobGroup(group)
