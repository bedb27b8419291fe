"""Going round the topics: a round for each, and what their tables need besides.

What fails for one topic is told and tried again the next time; the others go on. Tables of topics that are no
more are dropped, and their files left to the sweep.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from dray.cluster.topics import Topic, Topics
from dray.ids import TopicRef
from dray.index import CorruptValue, SwapImpossible
from dray.log import LogError
from dray.meta.port import MetaError
from dray.objects.port import ObjectError
from dray.observe import get_logger
from dray.pipeline.detach import Detacher
from dray.pipeline.job_store import JobLost
from dray.pipeline.leases import Leases
from dray.pipeline.publish import table_of
from dray.pipeline.rounds import RoundParts, RoundReport, TopicRound
from dray.tables.port import TablesError

_log = get_logger("pipeline")
_FAILURES = (TablesError, MetaError, ObjectError, LogError, CorruptValue, SwapImpossible, JobLost)


@dataclass(slots=True)
class Turn:
    """What one turn did for a topic; `failure` says why it did not come to its end."""

    topic: str
    report: RoundReport = field(default_factory=RoundReport)
    detached: int = 0
    failure: str = ""


class Compactor:
    """Compacts every topic of a cluster, as far as no other compactor does."""

    def __init__(self, parts: RoundParts, topics: Topics, leases: Leases, detacher: Detacher) -> None:
        self._parts = parts
        self._topics = topics
        self._leases = leases
        self._detacher = detacher

    async def turn(self) -> AsyncIterator[Turn]:
        """Go once through all topics; tells of each as it is done."""
        waiting = await self._detacher.waiting()
        for topic in self._topics.all():
            ref = TopicRef(topic.name, topic.topic_id)
            if not await self._leases.take(topic.topic_id):
                continue  # another compactor is at it
            done = Turn(topic.name)
            try:
                await self._compact(topic, done)
                if ref in waiting:
                    done.detached = await self._detacher.detach(ref, waiting[ref])
            except _FAILURES as error:
                done.failure = str(error)
                _log.warning("topic_not_compacted", topic=topic.name, error=str(error))
            finally:
                await self._leases.release(topic.topic_id)
            yield done
        await self._drop_tables()

    async def _compact(self, topic: Topic, done: Turn) -> None:
        round_ = TopicRound(self._parts, topic)
        try:
            done.report = await round_.run()
        finally:
            for failure in done.report.failures:
                _log.warning("stream_not_compacted", topic=topic.name, error=failure)

    async def _drop_tables(self) -> None:
        """Drop the tables of topics that are no more, and then let go of their files."""
        for table in await self._parts.tables.list_tables():
            if not await self._exists(table.topic, bytes.fromhex(table.topic_id)):
                await self._parts.tables.drop(table)
        left = set(await self._parts.tables.list_tables())
        for ref, marked in (await self._detacher.waiting()).items():
            if table_of(ref) not in left and not await self._exists(ref.name, ref.topic_id):
                await self._detacher.let_go(marked)

    async def _exists(self, name: str, topic_id: bytes) -> bool:
        """Ask the store itself: a topic made a moment ago is not known here yet."""
        topic = await self._topics.fresh(name)
        return topic is not None and topic.topic_id == topic_id
