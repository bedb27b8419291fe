"""Simulated brokers with topics: they serve records from Parquet, keep to topics' retention, and sweep."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from dray.cluster.topics import Streams, Topics
from dray.ids import StreamId
from dray.log import Log, LogParts, LogSettings, StreamUnknown
from dray.log.parquet import encode_group
from dray.log.row_groups import EncodedGroup, GroupBytes
from dray.runtime import Entropy
from dray.sweep import RetentionPolicy, TopicPolicies
from dray.tables.memory import MemoryCatalog, MemoryTables
from dray.testing.faulty_link import FaultyLinkSettings
from dray.testing.sim.brokers import SWEEP_SECONDS, Broker, Stores
from dray.testing.sim.tables.slow import SlowReads
from dray.testing.sim.tables.stores import FaultyTables


@dataclass(slots=True)
class TableStores(Stores):
    """The stores, and the catalogue beside them."""

    catalog: MemoryCatalog | None = None
    table_faults: FaultyLinkSettings | None = None
    committing: Callable[[], None] | None = None
    """Told when a process is about to send a commit to a table."""

    def tables(self, entropy: Entropy) -> MemoryTables:
        """Open the catalogue for one process."""
        assert self.catalog is not None
        if self.table_faults is None:
            return MemoryTables(self.catalog)
        return FaultyTables(self.catalog, entropy, self.table_faults, self._tell)

    def _tell(self) -> None:
        if self.committing is not None:
            self.committing()


class TopicBroker(Broker):
    """A broker with topics; its reads from the object store may take up to `read_s_max`."""

    def __init__(
        self,
        name: str,
        seed: int,
        stores: Stores,
        settings: LogSettings,
        domains: int,
        *,
        read_s_max: float = 0.0,
    ) -> None:
        super().__init__(name, seed, stores, settings, domains)
        self._read_s_max = read_s_max
        self._topics: Topics | None = None
        self._policies: TopicPolicies | None = None

    @property
    def topics(self) -> Topics | None:
        """The topics, once the broker has started."""
        return None if self.log is None else self._topics

    def _parts(self) -> LogParts:
        parts = replace(super()._parts(), encode_group=_encode_at_once)
        slow = SlowReads(parts.objects, parts.clock, parts.entropy, self._read_s_max)
        return replace(parts, objects=slow)

    async def _tend(self, parts: LogParts, log: Log) -> None:
        streams = Streams(log.create_stream, _if_there(log.condemn_stream), _if_there(log.delete_stream))
        self._topics = Topics(parts.meta, streams, parts.clock, parts.entropy)
        await self._topics.start(parts.tasks)
        self._policies = TopicPolicies(self._topics)
        finish = self._topics.finish_deletions
        parts.tasks.every(SWEEP_SECONDS, finish, name="sweep-topics", clock=parts.clock)
        await super()._tend(parts, log)

    def _policy_of(self, stream: StreamId) -> RetentionPolicy:
        assert self._policies is not None
        self._policies.look()
        return self._policies.of(stream)


async def _encode_at_once(group: GroupBytes) -> EncodedGroup:
    return encode_group(group)


def _if_there(work: Callable[[StreamId], Awaitable[None]]) -> Callable[[StreamId], Awaitable[None]]:
    async def done(stream: StreamId) -> None:
        with suppress(StreamUnknown):  # it is gone
            await work(stream)

    return done
