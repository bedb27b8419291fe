"""Table maintenance: the steps that topics and their tables need between compaction rounds.

In the order in which a compactor's pass runs them:

    drop_orphan_tables   drop the tables of deleted topics: a new topic of the same name needs the name
    before_pass          note where tables are and that they must be checked; read the notes of readers
    find_expired_files   find the files that the log has released and the tables still reference
      before_round       rebuild a dropped table
      detach             remove the topic's expired files from its table
      after_round        expire snapshots and measure lag
      audit              when due, restore missing files; then compare table and index
    after_pass           forget deleted topics; check references to files about to be deleted; from time to
                         time, clean up the other leftovers of deleted topics
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from dray.cluster.topics import Topic, TopicCatalog
from dray.compaction.backoff import Backoff
from dray.compaction.deps import CompactionDeps
from dray.compaction.index_files import IndexedFile
from dray.compaction.metrics import CompactionMetrics
from dray.compaction.topic_tables import table_of
from dray.ids import TopicRef
from dray.maintenance.audit import TableAudit
from dray.maintenance.deleted_topics import DeletedTopics
from dray.maintenance.detach import Detacher
from dray.maintenance.differences import Difference
from dray.maintenance.file_reference_check import FileReferenceCheck
from dray.maintenance.lag import Lag
from dray.maintenance.missing_files import MissingFileNotes, missing_files
from dray.maintenance.rebuild import FILES_AT_ONCE, Rebuilder
from dray.maintenance.repair import Repairer, RunBlocking
from dray.maintenance.snapshot_expiry import SnapshotExpiry
from dray.maintenance.stored_values import MarkedFile
from dray.observe import get_logger
from dray.tables.port import Listing, TableMissing, TopicTable

_log = get_logger("maintenance")


@dataclass(frozen=True, slots=True)
class MaintenanceDeps:
    """Dependencies of table maintenance."""

    shared: CompactionDeps
    """Those that compaction rounds have too."""
    topics: TopicCatalog
    detacher: Detacher
    domains: int
    metrics: CompactionMetrics
    run_blocking: RunBlocking
    """Runs slow calls in a thread."""


class TableMaintenance:
    """Maintains the tables of all topics of a cluster, one at a time."""

    def __init__(self, deps: MaintenanceDeps) -> None:
        shared = deps.shared
        self._deps = deps
        self._shared = shared
        self._metrics = deps.metrics
        self._index = shared.index
        self._lag = Lag(self._index, shared.jobs, shared.clock)
        self._rebuilder = Rebuilder(shared, deps.metrics)
        self._repairer = Repairer(shared, deps.run_blocking)
        self._snapshot_expiry = SnapshotExpiry(
            shared.tables, shared.objects, shared.clock, shared.settings, deps.metrics
        )
        self._table_audit = TableAudit(shared)
        self._reference_check = FileReferenceCheck(
            shared.meta, shared.tables, shared.clock, shared.log_settings, deps.domains
        )
        self._deleted_topics = DeletedTopics(shared, deps.topics, deps.detacher)
        self._repair_backoff = Backoff(shared.clock, 60_000, shared.settings.audit_interval_ms)
        self._audited_ms: dict[bytes, int] = {}
        self._cleaned_ms: int | None = None
        self._notes = MissingFileNotes(shared.meta, deps.domains)
        self._measured: set[str] = set()
        self._expired: dict[TopicRef, list[MarkedFile]] = {}
        self._own_commits = 0
        """Commits that maintenance itself has made to the table since its round began."""

    async def drop_orphan_tables(self, listed: Iterable[TopicTable]) -> None:
        await self._deleted_topics.drop_tables(listed)

    async def before_pass(self, listed: Listing | None) -> None:
        """Run the steps before all rounds; `listed` is None if the catalog could not be read."""
        self._snapshot_expiry.set_listing(listed)
        await self._reference_check.begin()
        await self._notes.read()

    async def find_expired_files(self) -> None:
        """Find the files that the log has released and the tables still reference."""
        self._expired = await self._deps.detacher.pending()

    async def before_round(self, topic: Topic, listed: Listing | None) -> int:
        """Rebuild the table if it was dropped; returns how many files were added to it."""
        self._own_commits = 0
        rebuilt = await self._rebuilder.run(topic, listed)
        self._own_commits = ceil(rebuilt / FILES_AT_ONCE)
        return rebuilt

    async def detach(self, topic: Topic) -> int:
        """Remove from the table the files of this topic that have expired; returns how many."""
        marked = self._expired.get(topic.ref, [])
        detached = await self._detach(topic, marked) if marked else 0
        self._own_commits += bool(detached)
        return detached

    async def _detach(self, topic: Topic, marked: Sequence[MarkedFile]) -> int:
        detacher = self._deps.detacher
        try:
            return await detacher.detach(topic.ref, marked, await self._index.log_starts(topic))
        except TableMissing:
            await detacher.release(marked)  # no table references them
            return 0

    async def after_round(self, topic: Topic, commits: int) -> None:
        """Expire snapshots of the table, to which the round made `commits` commits, and set the lag gauge."""
        await self._snapshot_expiry.after_commits(table_of(topic.ref), commits + self._own_commits)
        self._measured.add(topic.name)
        self._metrics.tables.lag_seconds.labels(topic.name).set(await self._lag.seconds(topic))

    async def after_pass(self) -> None:
        """Run the steps after all rounds; raises the errors of the catalog and the stores."""
        self._forget_deleted()
        await self._check_references()
        await self._clean_up()

    async def _check_references(self) -> None:
        """Check tables; one that references released files was changed by another engine: audit it."""
        for ref in await self._reference_check.run():
            self._audited_ms.pop(ref.topic_id, None)

    async def _clean_up(self) -> None:
        """Delete the records and files of deleted topics, once per sweep interval."""
        now_ms = self._shared.clock.now_ms()
        interval_ms = self._shared.settings.table_sweep_interval_ms
        if self._cleaned_ms is not None and self._cleaned_ms > now_ms - interval_ms:
            return
        await self._deleted_topics.remove_jobs(self._deps.domains)
        await self._deleted_topics.forget_rebuilds()
        swept = await self._deleted_topics.sweep_files()
        self._metrics.tables.swept_table_files.inc(swept)
        await self._table_audit.forget({topic.topic_id for topic in self._deps.topics.all()})
        self._cleaned_ms = now_ms

    def _forget_deleted(self) -> None:
        """Drop state and gauges of deleted topics."""
        self._repair_backoff.forget_stale()
        topics = self._deps.topics.all()
        names = {topic.name for topic in topics}
        for name in self._measured - names:
            self._metrics.tables.lag_seconds.remove(name)
            self._metrics.skipped_records.remove(name)
            self._metrics.tables.missing_files.remove(name)
            self._metrics.tables.differing_records.remove(name)
        self._measured &= names
        self._snapshot_expiry.forget_all_but(table_of(topic.ref) for topic in topics)
        self._lag.forget_all_but({stream for topic in topics for stream in topic.streams})
        ids = {topic.topic_id for topic in topics}
        self._audited_ms = {each: at_ms for each, at_ms in self._audited_ms.items() if each in ids}

    def is_audit_due(self, topic: Topic) -> bool:
        """Return whether the topic's audit interval has passed, or a reader has missed a file."""
        now_ms = self._shared.clock.now_ms()
        interval_ms = self._shared.settings.audit_interval_ms
        audited_ms = self._audited_ms.get(topic.topic_id)
        if audited_ms is None or audited_ms <= now_ms - interval_ms:
            return True
        return self._notes.mention(topic) and not self._repair_backoff.is_backing_off(topic.topic_id)

    async def audit(self, topic: Topic) -> int:
        """Compare files and table with the index; returns how many files were restored."""
        missing = await missing_files(self._index, self._shared.objects, topic)
        lost = await self._repairer.repair(topic, missing) if missing else {}
        losses = [_loss(file, lost[file.entry.path]) for file in missing if file.entry.path in lost]
        for loss in losses:
            _log.error("records_lost", topic=topic.name, partition=loss.partition, error=loss.reason)
        if lost:
            self._repair_backoff.failed(topic.topic_id)
        else:
            self._repair_backoff.succeeded(topic.topic_id)
        self._audited_ms[topic.topic_id] = self._shared.clock.now_ms()
        self._metrics.tables.missing_files.labels(topic.name).set(len(lost))
        self._metrics.tables.repaired_files.inc(len(missing) - len(lost))
        await self._notes.remove(topic)
        commits, differing = await self._table_audit.run(topic, losses)
        self._metrics.tables.differing_records.labels(topic.name).set(differing)
        await self._snapshot_expiry.after_commits(table_of(topic.ref), commits)
        return len(missing) - len(lost)


def _loss(file: IndexedFile, reason: str) -> Difference:
    """Return the difference that records a file that could not be restored."""
    entry = file.entry
    return Difference(file.partition, entry.start_offset, entry.end_offset - 1, entry.record_count, reason)
