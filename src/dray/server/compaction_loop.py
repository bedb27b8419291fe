"""The loop of a compactor: one pass over all topics after another, and its progress report."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final

from msgspec import structs

from dray.compaction.compactor import Compactor, TopicResult
from dray.index import CorruptValue
from dray.meta.port import MetaError
from dray.objects.port import ObjectError
from dray.observe import get_logger
from dray.runtime import Clock
from dray.server.compactor import running_compactor
from dray.server.errors import ConfigurationError, StartupError
from dray.server.stopping import Stop
from dray.server.stores import ProcessContext, process_context
from dray.settings import DraySettings
from dray.spark.java import JavaMissing
from dray.spark.job_monitor import OnProgress
from dray.spark.jvm import SparkFailed
from dray.spark.launch import SparkMissing

_log = get_logger("compactor")
_RETRIABLE: Final = (SparkFailed, MetaError, ObjectError, CorruptValue)
_PASSES_MAX: Final = 64
"""How many passes `compact_all` may take; each merges what the one before wrote."""


@dataclass(slots=True)
class Progress:
    """What was done so far."""

    files: int = 0
    records: int = 0
    failures: int = 0
    skipped_records: dict[str, int] = field(default_factory=dict)
    """Records that cannot be converted and stay in the WAL, by topic."""
    held_by_others: set[str] = field(default_factory=set)
    """Topics whose lease another compactor held during the last pass."""

    @property
    def is_complete(self) -> bool:
        """Whether every round succeeded; records that cannot be converted count as done."""
        return not self.failures

    def add(self, result: TopicResult) -> None:
        report = result.report
        self.files += report.files
        self.records += report.records
        self.failures += len(report.failures) + bool(result.failure)
        self.skipped_records.pop(result.topic, None)
        if report.skipped_records:
            self.skipped_records[result.topic] = report.skipped_records
        if result.held_by_other:
            self.held_by_others.add(result.topic)
        if report.files or result.detached:
            _log.info(
                "topic_compacted",
                topic=result.topic,
                files=report.files,
                records=report.records,
                files_expired=result.detached,
            )


async def run_compactor(
    settings: DraySettings, stop: Stop, on_progress: OnProgress, started: Callable[[], None] | None = None
) -> None:
    """Run a compactor until a stop is requested; `started` is called before its first pass."""
    context = process_context()
    pause_s = settings.compaction.interval_ms / 1000
    async with AsyncExitStack() as running:
        starting = running.enter_async_context(running_compactor(settings, context, on_progress, waits=True))
        compactor = await stop.unless_requested(starting)
        if compactor is None:
            return
        if started is not None:
            started()
        await compact_until_stopped(compactor, Progress(), pause_s, context.clock, stop)


async def compact_until_stopped(
    compactor: Compactor, progress: Progress, pause_s: float, clock: Clock, stop: Stop
) -> None:
    """Compact what is due, pause, and repeat. Failures of Spark and of the stores are retried."""
    while not stop.requested:
        try:
            await stop.unless_requested(_one_pass(compactor, progress))
        except _RETRIABLE as error:
            _log.warning("pass_failed", error=str(error), retry_in_s=pause_s)
        await stop.unless_requested(clock.sleep(pause_s))


async def compact_once(
    settings: DraySettings, context: ProcessContext, stop: Stop, on_progress: OnProgress
) -> Progress:
    """Run a compactor until nothing is left, regardless of the age of records; returns what it did."""
    eager = structs.replace(settings, compaction=structs.replace(settings.compaction, wal_age_ms_max=0))
    progress = Progress()
    async with running_compactor(eager, context, on_progress) as compactor:
        await compact_all(compactor, progress, stop)
    return progress


async def compact_all(compactor: Compactor, progress: Progress, stop: Stop) -> None:
    """Compact until nothing is left."""
    for _ in range(_PASSES_MAX):
        try:
            if not await stop.unless_requested(_one_pass(compactor, progress)):
                return
        except _RETRIABLE as error:
            raise StartupError(str(error)) from error
    raise StartupError(f"not fully compacted after {_PASSES_MAX} passes; run it again")


async def _one_pass(compactor: Compactor, progress: Progress) -> int:
    """Visit every topic once; returns how many files were written or expired."""
    done = 0
    progress.held_by_others.clear()
    try:
        async for result in compactor.run_pass():
            progress.add(result)
            done += result.report.files + result.detached
    except (JavaMissing, SparkMissing) as error:
        raise ConfigurationError(str(error)) from error
    return done
