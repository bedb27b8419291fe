"""What topics and their tables need besides rounds, put together once for every compactor.

In the order in which a turn calls for it:

    drop_departed   drop the tables of deleted topics: a topic that was made again needs their place
    before_turn     see where tables are; say that there are some to be asked; read what readers have missed
      before_round    make the table again that somebody has dropped
      after_round     expire snapshots; show how far behind the table is
      audit           when due, bring back files that the store lacks; then compare table and index
    after_turn      forget deleted topics; ask tables about files that are to go; now and then clear up what
                    else deleted topics have left
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass

from dray.cluster.topics import Topic, Topics
from dray.observe import get_logger
from dray.pipeline.backoff import Backoff
from dray.pipeline.care.asking import Asking
from dray.pipeline.care.audit import TableAudit
from dray.pipeline.care.departed import Departed
from dray.pipeline.care.detach import Detacher
from dray.pipeline.care.differences import Difference
from dray.pipeline.care.missing import missing_files
from dray.pipeline.care.notes import Notes
from dray.pipeline.care.rebuild import Rebuilder
from dray.pipeline.care.repair import Repairer, RunBlocking
from dray.pipeline.care.upkeep import Upkeep
from dray.pipeline.index_files import IndexedFile
from dray.pipeline.lag import Lag
from dray.pipeline.metrics import CompactionMetrics
from dray.pipeline.parts import CompactionParts
from dray.pipeline.topic_tables import table_of
from dray.tables.port import Listing, TopicTable

_log = get_logger("pipeline")


@dataclass(frozen=True, slots=True)
class CareParts:
    """What the care of tables is given."""

    shared: CompactionParts
    """What rounds are given too."""
    topics: Topics
    detacher: Detacher
    domains: int
    metrics: CompactionMetrics
    run_blocking: RunBlocking
    """Runs calls that take long in a thread."""


class Care:
    """Looks after all topics of a cluster, one at a time."""

    def __init__(self, parts: CareParts) -> None:
        shared = parts.shared
        self._parts = parts
        self._shared = shared
        self._metrics = parts.metrics
        self._index = shared.index
        self._lag = Lag(self._index, shared.clock)
        self._rebuilder = Rebuilder(shared, parts.metrics)
        self._repairer = Repairer(shared, parts.run_blocking)
        self._upkeep = Upkeep(shared.tables, shared.objects, shared.clock, shared.settings, parts.metrics)
        self._table_audit = TableAudit(shared)
        self._asking = Asking(shared.meta, shared.tables, shared.clock, shared.log_settings, parts.domains)
        self._departed = Departed(shared, parts.topics, parts.detacher)
        self._beyond_repair = Backoff(shared.clock, 60_000, shared.settings.audit_interval_ms)
        self._audited_ms: dict[bytes, int] = {}
        self._cleared_ms: int | None = None
        self._notes = Notes(shared.meta, parts.domains)
        self._shown: set[str] = set()

    async def drop_departed(self, listed: Iterable[TopicTable]) -> None:
        await self._departed.drop_tables(listed)

    async def before_turn(self, listed: Listing | None) -> None:
        """Take the steps before all rounds; `listed` is None if the catalogue does not say what there is."""
        self._upkeep.see(listed)
        await self._asking.begin()
        await self._notes.read()

    async def before_round(self, topic: Topic, listed: Container[TopicTable] | None) -> int:
        """Make the table again if it was dropped; returns how many files were put into it."""
        return await self._rebuilder.run(topic, listed)

    async def after_round(self, topic: Topic, commits: int) -> None:
        """Look after the table, which the round has committed to so many times, and show the lag."""
        await self._upkeep.after_commits(table_of(topic.ref), commits)
        self._shown.add(topic.name)
        self._metrics.lag_seconds.labels(topic.name).set(await self._lag.seconds(topic))

    async def after_turn(self) -> None:
        """Take the steps after all rounds; raises what the catalogue or a store raises."""
        self._forget_deleted()
        await self._ask_tables()
        await self._clear_up()

    async def _ask_tables(self) -> None:
        """Ask; one that names what the index has given up was changed by somebody, and its audit is due."""
        for ref in await self._asking.run():
            self._audited_ms.pop(ref.topic_id, None)

    async def _clear_up(self) -> None:
        """Forget jobs, files and findings of deleted topics, if that was not done a while ago."""
        now_ms = self._shared.clock.now_ms()
        interval_ms = self._shared.settings.table_sweep_interval_ms
        if self._cleared_ms is not None and self._cleared_ms > now_ms - interval_ms:
            return
        await self._departed.forget_jobs(self._parts.domains)
        swept = await self._departed.sweep_files()
        self._metrics.swept_table_files.inc(swept)
        await self._table_audit.forget({topic.topic_id for topic in self._parts.topics.all()})
        self._cleared_ms = now_ms

    def _forget_deleted(self) -> None:
        """Remember, and show, nothing of topics that are no more."""
        self._beyond_repair.forget_old()
        topics = self._parts.topics.all()
        names = {topic.name for topic in topics}
        for name in self._shown - names:
            self._metrics.lag_seconds.forget(name)
            self._metrics.missing_files.forget(name)
            self._metrics.differing_records.forget(name)
        self._shown &= names
        self._upkeep.forget_all_but(table_of(topic.ref) for topic in topics)
        self._lag.forget_all_but({stream for topic in topics for stream in topic.streams})
        ids = {topic.topic_id for topic in topics}
        self._audited_ms = {each: at_ms for each, at_ms in self._audited_ms.items() if each in ids}

    def is_audit_due(self, topic: Topic) -> bool:
        """Say whether it is time to look at the topic's files, or somebody has missed one."""
        now_ms = self._shared.clock.now_ms()
        interval_ms = self._shared.settings.audit_interval_ms
        audited_ms = self._audited_ms.get(topic.topic_id)
        if audited_ms is None or audited_ms <= now_ms - interval_ms:
            return True
        return self._notes.tell_of(topic) and not self._beyond_repair.waits(topic.topic_id)

    async def audit(self, topic: Topic) -> int:
        """See that files and table are as the index says; returns how many files were brought back."""
        missing = await missing_files(self._index, self._shared.objects, topic)
        lost = await self._repairer.repair(topic, missing) if missing else {}
        losses = [_loss(file, lost[file.entry.path]) for file in missing if file.entry.path in lost]
        for loss in losses:
            _log.error("records_lost", topic=topic.name, partition=loss.partition, error=loss.why)
        if lost:
            self._beyond_repair.failed(topic.topic_id)
        else:
            self._beyond_repair.succeeded(topic.topic_id)
        self._audited_ms[topic.topic_id] = self._shared.clock.now_ms()
        self._metrics.missing_files.labels(topic.name).set(len(lost))
        self._metrics.repaired_files.inc(len(missing) - len(lost))
        await self._notes.remove(topic)
        commits, differing = await self._table_audit.run(topic, losses)
        self._metrics.differing_records.labels(topic.name).set(differing)
        await self._upkeep.after_commits(table_of(topic.ref), commits)
        return len(missing) - len(lost)


def _loss(file: IndexedFile, why: str) -> Difference:
    """Return what is told of a file that could not be brought back."""
    entry = file.entry
    return Difference(file.partition, entry.start_offset, entry.end_offset - 1, entry.record_count, why)
