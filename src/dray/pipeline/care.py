"""What topics and their tables need besides rounds, put together once for every compactor.

Before all rounds: tables of topics that are no more are dropped. Before a round: a table that somebody has
dropped is made again. After it: snapshots are expired, files that the index names and the store lacks are
brought back, and the table is compared with the index. After all of them: what else those topics have left
goes, and tables are asked about files that are to go.
"""

from collections.abc import Collection, Container
from dataclasses import dataclass

from dray.cluster.topics import Topic, Topics
from dray.ids import MetaDomain, StreamId
from dray.index import domain_name
from dray.log.missing import decode_missing, missing_range
from dray.meta.port import Check, Delete, Domain, Entry
from dray.objects.port import ObjectStore
from dray.observe import get_logger
from dray.pipeline.asking import Asking
from dray.pipeline.backoff import Backoff
from dray.pipeline.departed import Departed
from dray.pipeline.detach import Detacher
from dray.pipeline.index_files import IndexFiles
from dray.pipeline.lag import Lag
from dray.pipeline.metrics import CompactionMetrics
from dray.pipeline.missing import missing_files
from dray.pipeline.publish import table_of
from dray.pipeline.rebuild import Rebuilder
from dray.pipeline.repair import Repairer, RunBlocking
from dray.pipeline.rounds import RoundParts
from dray.pipeline.stored_values import readable
from dray.pipeline.table_audit import TableAudit
from dray.pipeline.upkeep import Upkeep
from dray.tables.port import TopicTable

_log = get_logger("pipeline")


@dataclass(frozen=True, slots=True)
class CareParts:
    """What a compactor has besides what its rounds have."""

    rounds: RoundParts
    topics: Topics
    detacher: Detacher
    objects: ObjectStore
    domains: int
    metrics: CompactionMetrics
    run_blocking: RunBlocking
    """Runs calls that take long in a thread."""


@dataclass(frozen=True, slots=True)
class _Note:
    domain: Domain
    stored: Entry


class Care:
    """Looks after all topics of a cluster, one at a time."""

    def __init__(self, parts: CareParts) -> None:
        rounds = parts.rounds
        self._parts = parts
        self._metrics = parts.metrics
        self._index = IndexFiles(rounds.meta, rounds.jobs)
        self._lag = Lag(self._index, rounds.clock)
        self._rebuilder = Rebuilder(rounds, parts.objects, parts.metrics)
        self._repairer = Repairer(rounds, parts.objects, parts.run_blocking)
        self._upkeep = Upkeep(rounds.tables, parts.objects, rounds.clock, rounds.settings, parts.metrics)
        self._table_audit = TableAudit(rounds, parts.objects)
        self._asking = Asking(rounds.meta, rounds.tables, rounds.clock, rounds.log_settings, parts.domains)
        self._departed = Departed(rounds, parts.topics, parts.detacher)
        self._beyond_repair = Backoff(rounds.clock, 60_000, rounds.settings.audit_interval_ms)
        self._audited_ms: dict[bytes, int] = {}
        self._cleared_ms: int | None = None
        self._notes: dict[StreamId, list[_Note]] = {}
        self._shown: set[str] = set()

    async def drop_departed(self, listed: Collection[TopicTable]) -> None:
        """Drop the tables of topics that are no more: one that was made again needs their place."""
        await self._departed.drop_tables(listed)

    async def before_turn(self) -> None:
        """See what brokers have found missing."""
        await self._asking.begin()
        self._notes = {}
        for number in range(self._parts.domains):
            domain = Domain(domain_name(MetaDomain(number)))
            found = readable(self._parts.rounds.meta, domain, missing_range(domain), decode_missing)
            async for stored, missing in found:
                self._notes.setdefault(missing.stream, []).append(_Note(domain, stored))

    async def before_round(self, topic: Topic, listed: Container[TopicTable] | None) -> int:
        """Make the table again if it was dropped; returns how many files were put into it."""
        return await self._rebuilder.run(topic, listed)

    async def after_round(self, topic: Topic, commits: int) -> int:
        """Look after table and files; returns how many files were brought back."""
        await self._upkeep.after_commits(table_of(topic.ref), commits)
        repaired = await self._audit(topic) if self._is_audit_due(topic) else 0
        self._shown.add(topic.name)
        self._metrics.lag_seconds.labels(topic.name).set(await self._lag.seconds(topic))
        return repaired

    async def after_turn(self) -> None:
        """Clear up, once in a while, what else topics have left that are no more."""
        self._forget_deleted()
        for ref in await self._asking.run():
            # It names what the index has given up, so somebody has changed it: look now.
            self._audited_ms.pop(ref.topic_id, None)
        now_ms = self._parts.rounds.clock.now_ms()
        interval_ms = self._parts.rounds.settings.metadata_sweep_interval_ms
        if self._cleared_ms is None or self._cleared_ms <= now_ms - interval_ms:
            await self._departed.forget_jobs(self._parts.domains)
            swept = await self._departed.sweep_metadata(self._parts.objects)
            self._metrics.swept_metadata.inc(swept)
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
            self._metrics.untabled_records.forget(name)
        self._shown &= names
        self._upkeep.forget_all_but(table_of(topic.ref) for topic in topics)
        self._lag.forget_all_but({stream for topic in topics for stream in topic.streams})
        ids = {topic.topic_id for topic in topics}
        self._audited_ms = {each: at_ms for each, at_ms in self._audited_ms.items() if each in ids}

    def _is_audit_due(self, topic: Topic) -> bool:
        now_ms = self._parts.rounds.clock.now_ms()
        interval_ms = self._parts.rounds.settings.audit_interval_ms
        audited_ms = self._audited_ms.get(topic.topic_id)
        if audited_ms is None or audited_ms <= now_ms - interval_ms:
            return True
        noted = any(stream in self._notes for stream in topic.streams)
        return noted and not self._beyond_repair.waits(topic.topic_id)

    async def _audit(self, topic: Topic) -> int:
        missing = await missing_files(self._index, self._parts.objects, topic)
        lost = await self._repairer.repair(topic, missing) if missing else {}
        for told in lost.values():
            _log.error("records_lost", topic=topic.name, error=told)
        if lost:
            self._beyond_repair.failed(topic.topic_id)
        else:
            self._beyond_repair.succeeded(topic.topic_id)
        self._audited_ms[topic.topic_id] = self._parts.rounds.clock.now_ms()
        self._metrics.missing_files.labels(topic.name).set(len(lost))
        self._metrics.repaired_files.inc(len(missing) - len(lost))
        await self._remove_notes(topic)
        commits, differing = await self._table_audit.run(topic)
        self._metrics.untabled_records.labels(topic.name).set(differing)
        await self._upkeep.after_commits(table_of(topic.ref), commits)
        return len(missing) - len(lost)

    async def _remove_notes(self, topic: Topic) -> None:
        for stream in topic.streams:
            for note in self._notes.pop(stream, []):
                check = Check(note.stored.key, note.stored.version)
                await self._parts.rounds.meta.commit(note.domain, [check], [Delete(note.stored.key)])
