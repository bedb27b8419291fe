"""Compactor: passes over all topics that turn WAL ranges into Parquet files and maintain the topics' tables.

Terms, from the whole to the parts:

- Pass: one visit to every topic (`Compactor.run_pass`). A compactor process makes one pass after another.
- Round: the work on one topic during a pass. `TopicRound` finishes what an earlier round left, converts WAL
  ranges and merges small files; on topics with `cleanup.policy=compact` a `KeyCompactionRound` follows.
- Job: one change to one stream, which replaces some of its index entries by files. Its record is stored with
  the stream (`JobStore`) and moves through the states created → written → published → done. The jobs of a
  round share one commit to the table.
- Task: the piece of a job that one worker executes (`tasks`): it writes a file of the job, or the key map for
  key compaction. A task reads and writes objects only; it knows neither the metadata store nor the table.

Roles:

- `Compactor` orders the pass, holds the lease of the current topic, and handles failures.
- `CandidateFinder` and the `plan` modules decide what is due; the plans are pure.
- The engine behind `RunTasks`, Spark in production, executes tasks.
- `Publisher` commits written files to the table, then swaps them into the index.
- `Maintenance` (`dray.maintenance`) does everything else that tables need, around the rounds.

Crash safety: a lease gives a topic to one compactor, but it only avoids duplicate work. What makes a crashed,
stalled or second compactor harmless is the job record: every change of it is conditional on its version, and
a compactor that loses the race gets `JobLost` and leaves the topic. Whichever compactor visits the topic next
finishes the job from its record alone. Files that no job record mentions yet are orphans for the sweep.

Failures: what fails for one topic, or for one partition whose records cannot be read or written, is logged,
counted and stored (`failures`); the topic or partition is retried with exponential backoff, and the others
are not affected. If the engine fails, no more files are written in this pass, but steps that need no engine
still run for every topic. A failure in maintenance, such as a catalog that cannot expire snapshots, delays no
round. Producers and consumers notice none of this: records stay in the WAL until they are in Parquet files.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from dray.cluster.topics import Topic, TopicCatalog
from dray.compaction.candidates import CompactorState
from dray.compaction.deps import CompactionDeps
from dray.compaction.engine import EngineFailed
from dray.compaction.failures import FailureReporter, TopicFailures
from dray.compaction.job_store import JobLost
from dray.compaction.key_compaction.rounds import KeyCompactionRound
from dray.compaction.leases import Leases
from dray.compaction.maintenance_port import Maintenance
from dray.compaction.metrics import CompactionMetrics
from dray.compaction.report import RoundReport
from dray.compaction.rounds import TopicRound
from dray.compaction.table_listing import TableListing
from dray.compaction.task_monitor import TaskMonitor
from dray.formats.parquet_v1 import ParquetError
from dray.ids import StreamId
from dray.index import CorruptValue, SwapImpossible
from dray.log import LogError
from dray.meta.port import MetaError
from dray.objects.port import ObjectError
from dray.observe import get_logger
from dray.tables.port import Listing, TablesError

_log = get_logger("compaction")
_FAILURES: Final = (
    TablesError,
    MetaError,
    ObjectError,
    LogError,
    ParquetError,
    CorruptValue,
    SwapImpossible,
)
_KEY_COMPACTION: Final = "key compaction"
_DROP_TABLES: Final = "drop orphan tables"
_CLEAN_UP: Final = "clean up after deleted topics"


@dataclass(slots=True)
class TopicResult:
    """What a pass did for one topic; `failure` is the reason if the round was aborted."""

    topic: str
    report: RoundReport = field(default_factory=RoundReport)
    detached: int = 0
    rebuilt: int = 0
    repaired: int = 0
    failure: str = ""
    held_by_other: bool = False
    """Whether another compactor worked on the topic."""


class Compactor:
    """Compacts the topics of a cluster, except those that another compactor holds."""

    def __init__(
        self,
        deps: CompactionDeps,
        topics: TopicCatalog,
        leases: Leases,
        *,
        maintenance: Maintenance,
        metrics: CompactionMetrics,
        before_pass: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`before_pass` raises if this process must not continue."""
        self._deps = deps
        self._topics = topics
        self._leases = leases
        self._maintenance = maintenance
        self._metrics = metrics
        self._before_pass = before_pass
        self._failures = TopicFailures(deps.meta, deps.clock)
        self._state = CompactorState.of(deps)
        self._backoff = self._state.backoff
        self._reporter = FailureReporter(self._backoff, metrics)
        self._listing = TableListing(deps.tables, topics, self._backoff, self._reporter)
        self._engine_failure: EngineFailed | None = None
        """Why no files can be written during this pass."""

    async def run_pass(self) -> AsyncIterator[TopicResult]:
        """Visit every topic once and yield its result. Raises `EngineFailed` after the last topic."""
        self._engine_failure = None
        if self._before_pass is not None:
            await self._before_pass()
        listed = await self._listing.load()
        if listed is not None:
            await self._clean_up(_DROP_TABLES, partial(self._maintenance.drop_orphan_tables, listed))
        await self._maintenance.before_pass(listed)
        await self._failures.before_pass(topic.topic_id for topic in self._topics.all())
        await self._maintenance.find_expired_files()
        succeeded = listed is not None and not any(map(self._topics.find, listed.unreadable))
        for topic in self._topics.all():
            if self._backoff.is_backing_off(topic.topic_id):
                succeeded = False
                continue
            if not await self._leases.acquire(topic.topic_id):
                yield TopicResult(topic.name, held_by_other=True)
                continue
            try:
                result = await self._visit(topic, listed)
            finally:
                await self._leases.release(topic.topic_id)
            succeeded = succeeded and not result.failure and not result.report.failures
            yield result
        if listed is not None:
            await self._clean_up(_CLEAN_UP, self._maintenance.after_pass)
        self._forget_deleted_streams()
        if self._engine_failure is not None:
            raise self._engine_failure
        if succeeded:
            self._metrics.last_success.set(self._deps.clock.now_ms() / 1000)

    async def _visit(self, topic: Topic, listed: Listing | None) -> TopicResult:
        """Run the topic's round and its maintenance; failures end up in the result."""
        result = TopicResult(topic.name)
        try:
            await self._run_round(topic, result, listed)
        except JobLost as lost:
            self._on_job_lost(result, lost)
            return result
        except _FAILURES as error:
            result.failure = str(error)
            self._reporter.report(
                topic.topic_id, "topic", "topic_compaction_failed", topic=topic.name, error=str(error)
            )
            await self._failures.record(topic.topic_id, result.failure)
            return result
        if self._engine_failure is None:
            self._backoff.succeeded(topic.topic_id)
        unreadable = None if listed is None else listed.unreadable.get(topic.name)
        if reason := self._engine_failure or unreadable:
            await self._failures.record(topic.topic_id, str(reason))
        else:
            await self._failures.clear(topic.topic_id)
        await self._maintain(topic, result)
        return result

    # The round

    async def _run_round(self, topic: Topic, result: TopicResult, listed: Listing | None) -> None:
        result.rebuilt = await self._maintenance.before_round(topic, listed)
        if self._engine_failure is None:
            try:
                await self._compact(topic, result)
            except EngineFailed as failure:
                self._engine_failure = failure
                self._metrics.failures.labels("topic").inc()
                result.failure = str(failure)
        else:
            result.report = await TopicRound(self._deps, topic).finish()
        result.detached = await self._maintenance.detach(topic)

    async def _compact(self, topic: Topic, result: TopicResult) -> None:
        monitor = TaskMonitor(self._deps.run_tasks, self._metrics)
        deps = replace(self._deps, run_tasks=monitor.run_tasks)
        backing_off = {stream for stream in topic.streams if self._backoff.is_backing_off(stream)}
        began = self._deps.clock.monotonic()
        try:
            result.report = await TopicRound(deps, topic, self._state).run()
        finally:
            self._state.damaged |= monitor.damaged
            for stream in monitor.failed:
                self._backoff.failed(stream)
            for stream in monitor.succeeded - monitor.failed:
                self._backoff.succeeded(stream)
        self._metrics.skipped_records.labels(topic.name).set(result.report.skipped_records)
        self._log_problems(topic, result.report)
        key_compacted = await self._compact_keys(topic, backing_off | monitor.failed)
        self._log_problems(topic, key_compacted)
        result.report.merge(key_compacted)
        if result.report.files:
            self._metrics.round_seconds.observe(self._deps.clock.monotonic() - began)

    async def _compact_keys(self, topic: Topic, excluded: set[StreamId]) -> RoundReport:
        """Run a round of key compaction, if the topic's config asks for it."""
        backing_off = {
            stream for stream in topic.streams if self._backoff.is_backing_off((stream, _KEY_COMPACTION))
        }
        monitor = TaskMonitor(self._deps.run_tasks, self._metrics)
        deps = replace(self._deps, run_tasks=monitor.run_tasks)
        key_compaction = KeyCompactionRound(deps, topic, excluded | backing_off)
        report = await key_compaction.run()
        if key_compaction.advanced:
            self._invalidate(topic)
        for stream in topic.streams:
            if stream in key_compaction.failed:
                self._backoff.failed((stream, _KEY_COMPACTION))
            elif stream not in backing_off:
                self._backoff.succeeded((stream, _KEY_COMPACTION))
        return report

    def _log_problems(self, topic: Topic, report: RoundReport) -> None:
        for skipped in report.skipped:
            _log.warning("wal_range_skipped", topic=topic.name, error=skipped)
        for failure in report.failures:
            self._metrics.failures.labels("partition").inc()
            _log.warning("partition_compaction_failed", topic=topic.name, error=failure)

    def _invalidate(self, topic: Topic) -> None:
        """Read the topic's streams again in the next round.

        Their files have changed, or another engine may have changed the table.
        """
        for stream in topic.streams:
            self._state.idle_streams.pop(stream, None)

    def _forget_deleted_streams(self) -> None:
        self._state.retain_only(frozenset(stream for topic in self._topics.all() for stream in topic.streams))

    # Maintenance

    async def _maintain(self, topic: Topic, result: TopicResult) -> None:
        """Run the maintenance after a round; a failure of its first step does not prevent the second."""
        commits = int(bool(result.report.files))
        await self._try_step(
            topic, result, "maintenance", partial(self._maintenance.after_round, topic, commits)
        )
        if not result.held_by_other and self._maintenance.is_audit_due(topic):
            await self._try_step(topic, result, "audit", partial(self._audit, topic, result))

    async def _try_step(
        self, topic: Topic, result: TopicResult, name: str, step: Callable[[], Awaitable[None]]
    ) -> None:
        key = (topic.topic_id, name)
        if self._backoff.is_backing_off(key):
            return
        try:
            await step()
        except JobLost as lost:
            self._on_job_lost(result, lost)
        except _FAILURES as error:
            self._reporter.report(
                key, "topic", "table_maintenance_failed", topic=topic.name, error=str(error)
            )
        else:
            self._backoff.succeeded(key)

    async def _audit(self, topic: Topic, result: TopicResult) -> None:
        self._invalidate(topic)
        result.repaired = await self._maintenance.audit(topic)

    def _on_job_lost(self, result: TopicResult, lost: JobLost) -> None:
        """Leave the topic to the compactor that took it over after this one stalled past its lease."""
        result.held_by_other = True
        _log.info("lease_lost", topic=result.topic, reason=str(lost))

    async def _clean_up(self, key: str, step: Callable[[], Awaitable[None]]) -> None:
        """Run a step of the cleanup after deleted topics, unless it has failed recently."""
        if self._backoff.is_backing_off(key):
            return
        try:
            await step()
        except (TablesError, ObjectError, CorruptValue) as error:
            self._reporter.report(key, "catalog", "deleted_topic_cleanup_failed", error=str(error))
        else:
            self._backoff.succeeded(key)
