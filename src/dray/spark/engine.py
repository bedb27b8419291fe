"""Compaction engine on Spark: many tasks as one Spark job, most of which write one file each.

A task reports its own result, failures included (`worker`). If Spark aborts the job because a task's worker
died repeatedly, that task fails and the rest run again, a few times at most: a stream whose records do not
fit into a worker's memory must not block the others.
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

from dray.compaction.engine import TaskFailure
from dray.compaction.tasks import Task, TaskOutput, reads_of
from dray.runtime import Clock, Entropy, Tasks, ThreadsStopped
from dray.scan.access import StorageAccess
from dray.spark.job_monitor import JobMonitor, OnProgress
from dray.spark.jvm import SparkFailed
from dray.spark.session import SparkHost
from dray.spark.settings import SparkSettings, usual_cache
from dray.spark.worker import RESULT_DDL, TaskResult, TaskWork, decode_result, encode_task

_JOBS_MAX: Final = 4
_ABORTED: Final = re.compile(r"Task (\d+) in stage \S+ failed (\d+) times")
_rows: Final = msgspec.json.Decoder(list[tuple[TaskResult]])
_CAUSE: Final = re.compile(r"most recent failure: .*?\): (?:[\w.$]+: )?([^\n]*)")


def _ignore_progress(done: int, of: int) -> None: ...


def _nothing() -> None: ...


class JobFailed(Exception):
    """Spark aborted the job; `task` is the one that caused it, if known."""

    def __init__(self, message: str, task: int | None) -> None:
        super().__init__(message)
        self.task = task


@dataclass(frozen=True, slots=True)
class EngineDeps:
    """Dependencies of the engine."""

    clock: Clock
    entropy: Entropy
    tasks: Tasks
    settings: SparkSettings
    cache: Path | None = None
    """Folder for class-data archives, which speed up later starts; None is the user's cache folder."""


class SparkEngine:
    """Runs tasks with Spark, which the first call starts, and the next one after its JVM was lost."""

    def __init__(self, deps: EngineDeps) -> None:
        self._deps = deps
        self._host: SparkHost | None = None
        self._starting = asyncio.Lock()

    async def run_tasks(
        self, tasks: Sequence[Task], storage: StorageAccess, on_progress: OnProgress = _ignore_progress
    ) -> list[TaskOutput | TaskFailure]:
        """Run tasks of any kind; results are in the order of the tasks.

        Raises the errors of `SparkHost.start`, and `SparkFailed` if no executor works on the job. If the
        caller is cancelled, so is the job.
        """
        results: dict[int, TaskOutput | TaskFailure] = {}
        remaining = sorted(range(len(tasks)), key=lambda one: -_read_bytes(tasks[one]))  # longest first
        for _ in range(_JOBS_MAX):
            if not remaining:
                break
            completed = len(tasks) - len(remaining)
            try:
                done = await self._run_job(
                    [tasks[one] for one in remaining], storage, _offset_progress(completed, on_progress)
                )
            except JobFailed as failed:
                failing = remaining if failed.task is None else [remaining[failed.task]]
                results |= {
                    one: TaskFailure(f"{tasks[one].path} was not written: {failed}") for one in failing
                }
            else:
                results |= dict(zip(remaining, done, strict=True))
            remaining = [one for one in remaining if one not in results]
        too_many = TaskFailure("not written: Spark aborted the job for too many of its files")
        return [results.get(one, too_many) for one in range(len(tasks))]

    async def close(self) -> None:
        """Stop Spark and its JVM."""
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
                cache = self._deps.cache or usual_cache(os.environ)
                self._host = await SparkHost.start(self._deps.settings, cache, self._deps.clock)
            return self._host

    async def _run_job(
        self, tasks: Sequence[Task], storage: StorageAccess, on_progress: OnProgress
    ) -> list[TaskOutput | TaskFailure]:
        """Run one job and report its progress."""
        host = await self._running()
        group = f"dray-{self._deps.entropy.token(8).hex()}"
        work = TaskWork(tuple(map(encode_task, tasks)), storage)
        monitor = JobMonitor(host, group, self._deps.clock)
        monitoring = self._deps.tasks.start(monitor.run(len(tasks), on_progress), name="spark-progress")
        try:
            results = await host.run(_collect, host.session, group, work, len(tasks))
        except asyncio.CancelledError:
            await host.query(_cancel, host.session, group)
            raise
        except JobFailed as failed:
            if monitor.abort_reason:
                raise SparkFailed(monitor.abort_reason) from failed
            raise
        finally:
            monitoring.cancel()
            with suppress(ThreadsStopped):
                await host.query(_nothing)  # waits for the monitor's last query, so that none is left behind
        on_progress(len(tasks), len(tasks))
        return results


def _read_bytes(task: Task) -> int:
    return sum(read.at.length for read in reads_of(task))


def _offset_progress(completed: int, on_progress: OnProgress) -> OnProgress:
    """Add the progress of a job to what was done before it."""
    return lambda done, of: on_progress(completed + done, completed + of)


def _collect(session: SparkSession, group: str, work: TaskWork, total: int) -> list[TaskOutput | TaskFailure]:
    """Run the job. Blocks; raises `JobFailed`."""
    try:
        session.sparkContext.setJobGroup(group, "dray compaction", interruptOnCancel=True)
        frame = session.range(0, total, 1, total).mapInArrow(work, RESULT_DDL)
        # Not `collect`, which leaves its socket to the garbage collector, which warns. And all results at
        # once: each one longer than a packet would take 40 ms. Their text form is JSON.
        rows = _rows.decode(frame._jdf.collectAsList().toString())  # noqa: SLF001 - pyspark has no other way
    except (Py4JError, PySparkException, OSError) as error:
        raise _failed(str(error)) from error
    outputs = {one.task: _output(one) for (one,) in rows}
    return [outputs[number] for number in range(total)]


def _output(result: TaskResult) -> TaskOutput | TaskFailure:
    if result.output is None:
        return TaskFailure(result.failed or "", result.damaged)
    return decode_result(result.output)


def _failed(message: str) -> JobFailed:
    """Extract the cause, and the task, from Spark's long message."""
    if found := _ABORTED.search(message):
        return JobFailed(f"Spark aborted it after {found[2]} attempts: {_cause(message)}", int(found[1]))
    return JobFailed(f"the Spark job failed: {message.strip().splitlines()[0]}", None)


def _cause(message: str) -> str:
    """Return the line of a lost task that names the cause, without the Java class in front of it."""
    found = _CAUSE.search(message)
    return found[1].strip() if found else "no cause was reported"


def _cancel(session: SparkSession, group: str) -> None:
    """Cancel the job. One that has not started yet still runs; garbage collection deletes its files."""
    with suppress(Py4JError, OSError):
        session.sparkContext.cancelJobGroup(group)
