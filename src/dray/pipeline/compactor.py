"""Going round the topics: a round for each, and what their tables need besides.

What fails for one topic is told and kept for whoever asks later. The topic is left alone for a while, for
longer each time, and so is a partition whose records cannot be read or written; the others go on.
Nobody produces or fetches less because of it: records stay in the WAL until they are in Parquet.

When the one who writes files fails, which is Spark, no other topic waits for it in the same turn; what needs
no files written is done for all.

What fails in the care for a table, such as a catalogue that expires no snapshots, holds up no round.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from typing import Final

from dray.cluster.topics import Topic, Topics
from dray.formats.parquet_v1 import ParquetError
from dray.ids import StreamId
from dray.index import CorruptValue, SwapImpossible
from dray.log import LogError
from dray.meta.port import MetaError
from dray.objects.port import ObjectError
from dray.observe import get_logger
from dray.pipeline.backoff import Backoff
from dray.pipeline.care.care import Care
from dray.pipeline.care.detach import Detacher, Marked
from dray.pipeline.care.rebuild import FILES_AT_ONCE
from dray.pipeline.clean.rounds import TopicCleaning
from dray.pipeline.engine import EngineFailed
from dray.pipeline.job_store import JobLost
from dray.pipeline.leases import Leases
from dray.pipeline.metrics import CompactionMetrics
from dray.pipeline.next_spans import Settled
from dray.pipeline.parts import CompactionParts
from dray.pipeline.report import RoundReport
from dray.pipeline.rounds import TopicRound
from dray.pipeline.troubles import Troubles
from dray.pipeline.watched import Watched
from dray.tables.port import Listing, TableMissing, TablesError

_log = get_logger("pipeline")
_FAILURES: Final = (
    TablesError,
    MetaError,
    ObjectError,
    LogError,
    ParquetError,
    CorruptValue,
    SwapImpossible,
)
_CATALOGUE: Final = "catalogue"
_DROPPING: Final = "dropping tables"
_CLEARING: Final = "clearing up"


@dataclass(slots=True)
class Turn:
    """What one turn did for a topic; `failure` says why it did not come to its end."""

    topic: str
    report: RoundReport = field(default_factory=RoundReport)
    detached: int = 0
    rebuilt: int = 0
    repaired: int = 0
    failure: str = ""
    left_to_others: bool = False
    """Whether another compactor was at it."""


class Compactor:
    """Compacts every topic of a cluster, as far as no other compactor does."""

    def __init__(
        self,
        parts: CompactionParts,
        topics: Topics,
        leases: Leases,
        detacher: Detacher,
        *,
        care: Care,
        metrics: CompactionMetrics,
    ) -> None:
        self._parts = parts
        self._topics = topics
        self._leases = leases
        self._detacher = detacher
        self._care = care
        self._metrics = metrics
        self._index = parts.index
        self._troubles = Troubles(parts.meta, parts.clock)
        settings = parts.settings
        self._backoff = Backoff(parts.clock, settings.retry_ms_min, settings.retry_ms_max)
        self._settled: Settled = {}
        self._unreadable: set[tuple[str, str]] = set()
        self._elsewhere: set[str] = set()
        self._damaged: set[str] = set()
        """Files that could not be read; they are tried again when this process is another."""
        self._engine_failure: EngineFailed | None = None
        """Why no files can be written in this turn."""

    async def turn(self) -> AsyncIterator[Turn]:
        """Go once through all topics; tells of each as it is done. Raises `EngineFailed` after the last."""
        self._engine_failure = None
        listed = await self._listed()
        if listed is not None:
            await self._clear(_DROPPING, partial(self._care.drop_departed, listed))
        await self._care.before_turn(listed)
        await self._troubles.before_turn(topic.topic_id for topic in self._topics.all())
        waiting = await self._detacher.waiting()
        well = listed is not None and not any(map(self._topics.find, listed.unreadable))
        for topic in self._topics.all():
            if self._backoff.waits(topic.topic_id):
                well = False
                continue
            if not await self._leases.take(topic.topic_id):
                yield Turn(topic.name, left_to_others=True)
                continue
            try:
                marked = waiting.get(topic.ref, [])
                done = await self._try_topic(topic, listed, marked)
            finally:
                await self._leases.release(topic.topic_id)
            well = well and not done.failure and not done.report.failures
            yield done
        if listed is not None:
            await self._clear(_CLEARING, self._care.after_turn)
        self._forget_deleted()
        if self._engine_failure is not None:
            raise self._engine_failure
        if well:
            self._metrics.last_success.set(self._parts.clock.now_ms() / 1000)

    async def _listed(self) -> Listing | None:
        """Return the tables that there are, or None if the catalogue does not say."""
        if self._backoff.waits(_CATALOGUE):
            return None
        try:
            listed = await self._parts.tables.listing()
        except TablesError as error:
            self._tell(_CATALOGUE, _CATALOGUE, "catalogue_fails", error=str(error))
            return None
        self._backoff.succeeded(_CATALOGUE)
        self._tell_listed(listed)
        return listed

    def _tell_listed(self, listed: Listing) -> None:
        """Tell of tables that cannot be read, less and less often, and once of those that were renamed."""
        unreadable = {}
        for name, why in (*listed.unreadable.items(), *listed.unreadable_others.items()):
            if self._topics.find(name) is not None and name in listed.unreadable:
                unreadable["topic", name] = str(why)
            else:
                unreadable["table", name] = f"{why}; files of deleted topics wait for it"
        for (kind, name), told in unreadable.items():
            if not self._backoff.waits((kind, name)):
                self._metrics.failures.labels("topic").inc()
                again_s = self._backoff.failed((kind, name))
                _log.warning("table_unreadable", **{kind: name}, error=told, told_again_in_s=again_s)
        for what in self._unreadable - unreadable.keys():
            self._backoff.succeeded(what)
        for name in listed.elsewhere.keys() - self._elsewhere:
            topic = listed.elsewhere[name].topic
            _log.warning("table_renamed", table=name, topic=topic, remedy="it is left alone; drop it at will")
        self._unreadable, self._elsewhere = set(unreadable), set(listed.elsewhere)

    async def _try_topic(self, topic: Topic, listed: Listing | None, marked: Sequence[Marked]) -> Turn:
        done = Turn(topic.name)
        try:
            await self._work_on(topic, done, listed, marked)
        except JobLost as lost:
            self._leave(done, lost)
            return done
        except _FAILURES as error:
            done.failure = str(error)
            self._tell(topic.topic_id, "topic", "topic_not_compacted", topic=topic.name, error=str(error))
            await self._troubles.note(topic.topic_id, done.failure)
            return done
        if self._engine_failure is None:
            self._backoff.succeeded(topic.topic_id)
        unreadable = None if listed is None else listed.unreadable.get(topic.name)
        if why := self._engine_failure or unreadable:
            await self._troubles.note(topic.topic_id, str(why))
        else:
            await self._troubles.clear(topic.topic_id)
        await self._take_care(topic, done)
        return done

    async def _work_on(
        self, topic: Topic, done: Turn, listed: Listing | None, marked: Sequence[Marked]
    ) -> None:
        done.rebuilt = await self._care.before_round(topic, listed)
        if self._engine_failure is None:
            try:
                await self._compact(topic, done)
            except EngineFailed as failure:
                self._engine_failure = failure
                self._metrics.failures.labels("topic").inc()
                done.failure = str(failure)
        else:
            done.report = await TopicRound(self._parts, topic).finish()
        if marked:
            done.detached = await self._detach(topic, marked)

    async def _compact(self, topic: Topic, done: Turn) -> None:
        watched = Watched(self._parts.perform, self._metrics)
        parts = replace(self._parts, perform=watched.perform)
        skipped = {stream for stream in topic.streams if self._backoff.waits(stream)}
        began = self._parts.clock.monotonic()
        try:
            done.report = await TopicRound(parts, topic, skipped, self._settled, self._damaged).run()
        finally:
            self._damaged |= watched.damaged
            for stream in watched.failed:
                self._backoff.failed(stream)
            for stream in watched.done - watched.failed:
                self._backoff.succeeded(stream)
        self._tell_of(topic, done.report)
        cleaned = await self._clean(topic, skipped | watched.failed)
        self._tell_of(topic, cleaned)
        done.report.add(cleaned)
        if done.report.files:
            self._metrics.round_seconds.observe(self._parts.clock.monotonic() - began)

    def _tell_of(self, topic: Topic, report: RoundReport) -> None:
        for told in report.unreadable:
            _log.warning("batches_unreadable", topic=topic.name, error=told)
        for failure in report.failures:
            self._metrics.failures.labels("partition").inc()
            _log.warning("partition_not_compacted", topic=topic.name, error=failure)

    async def _clean(self, topic: Topic, skipped: set[StreamId]) -> RoundReport:
        """Clean by key what the topic's config asks for."""
        waiting = {stream for stream in topic.streams if self._backoff.waits((stream, "cleaning"))}
        watched = Watched(self._parts.perform, self._metrics)
        parts = replace(self._parts, perform=watched.perform)
        cleaning = TopicCleaning(parts, topic, skipped | waiting)
        cleaned = await cleaning.run()
        if cleaned.files:
            self._unsettle(topic)
        for stream in topic.streams:
            if stream in cleaning.failed:
                self._backoff.failed((stream, "cleaning"))
            elif stream not in waiting:
                self._backoff.succeeded((stream, "cleaning"))
        return cleaned

    def _forget_deleted(self) -> None:
        self._backoff.forget_old()
        streams = {stream for topic in self._topics.all() for stream in topic.streams}
        for stream in self._settled.keys() - streams:
            del self._settled[stream]

    def _unsettle(self, topic: Topic) -> None:
        """Look through the streams of a topic again: their files are others than they were, or may be, as
        somebody may have changed the table."""
        for stream in topic.streams:
            self._settled.pop(stream, None)

    async def _detach(self, topic: Topic, marked: Sequence[Marked]) -> int:
        try:
            return await self._detacher.detach(topic.ref, marked, await self._index.starts(topic))
        except TableMissing:
            await self._detacher.let_go(marked)  # no table names them
            return 0

    async def _take_care(self, topic: Topic, done: Turn) -> None:
        """Take the two steps after a round; if the first fails, that is no reason to leave the other out."""
        commits = bool(done.report.files) + bool(done.detached) + ceil(done.rebuilt / FILES_AT_ONCE)
        await self._try_care(topic, done, "upkeep", partial(self._care.after_round, topic, commits))
        if not done.left_to_others and self._care.is_audit_due(topic):
            await self._try_care(topic, done, "audit", partial(self._audit, topic, done))

    async def _try_care(
        self, topic: Topic, done: Turn, name: str, step: Callable[[], Awaitable[None]]
    ) -> None:
        what = (topic.topic_id, name)
        if self._backoff.waits(what):
            return
        try:
            await step()
        except JobLost as lost:
            self._leave(done, lost)
        except _FAILURES as error:
            self._tell(what, "topic", "table_not_cared_for", topic=topic.name, error=str(error))
        else:
            self._backoff.succeeded(what)

    async def _audit(self, topic: Topic, done: Turn) -> None:
        self._unsettle(topic)
        done.repaired = await self._care.audit(topic)

    def _leave(self, done: Turn, lost: JobLost) -> None:
        """Leave the topic to another: this process was halted for longer than its lease."""
        done.left_to_others = True
        _log.info("left_to_another", topic=done.topic, why=str(lost))

    async def _clear(self, what: str, clear: Callable[[], Awaitable[None]]) -> None:
        """Clear up after topics that are no more, unless that has failed a short while ago."""
        if self._backoff.waits(what):
            return
        try:
            await clear()
        except (TablesError, ObjectError, CorruptValue) as error:
            self._tell(what, _CATALOGUE, "deleted_topics_not_cleared", error=str(error))
        else:
            self._backoff.succeeded(what)

    def _tell(self, what: object, counted: str, event: str, **fields: object) -> None:
        """Count a failure, tell of it, and leave what failed alone for a while."""
        self._metrics.failures.labels(counted).inc()
        _log.warning(event, **fields, again_in_s=self._backoff.failed(what))
