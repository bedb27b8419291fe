"""Simulated brokers with topics, which serve records from Parquet, apply retention and sweep."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from dray.cluster.topic_admin import TopicAdmin
from dray.cluster.topics import TopicCatalog
from dray.ids import StreamId
from dray.log import Log, LogDeps, LogSettings
from dray.log.log import LogStreams
from dray.log.parquet import encode_group
from dray.log.row_groups import EncodedGroup, GroupBytes
from dray.runtime import Entropy
from dray.sweep import RetentionPolicy, TopicPolicies
from dray.testing.faulty_link import FaultyLinkSettings
from dray.testing.memory_tables import MemoryCatalog, MemoryTables
from dray.testing.sim.brokers import SWEEP_SECONDS, Broker, Stores
from dray.testing.sim.tables.damage import Damage
from dray.testing.sim.tables.stores import FaultyTables, SlowReads


@dataclass(slots=True)
class TableStores(Stores):
    """The stores and the catalog."""

    catalog: MemoryCatalog | None = None
    table_faults: FaultyLinkSettings | None = None
    before_table_commit: Callable[[], None] | None = None
    """Called when a process is about to send a commit to a table."""
    damage: Damage = field(default_factory=lambda: Damage(0))

    def tables(self, entropy: Entropy) -> MemoryTables:
        """Open the catalog for one process."""
        assert self.catalog is not None
        if self.table_faults is None:
            return MemoryTables(self.catalog)
        return FaultyTables(self.catalog, entropy, self.table_faults, self._notify)

    def _notify(self) -> None:
        if self.before_table_commit is not None:
            self.before_table_commit()


class TopicBroker(Broker):
    """A broker with topics; it delays each read from the object store by up to `read_s_max`."""

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
        self._topics: TopicCatalog | None = None
        self._admin: TopicAdmin | None = None
        self._policies: TopicPolicies | None = None

    @property
    def topic_admin(self) -> TopicAdmin | None:
        """The topic admin; None while the broker is down or starting."""
        return None if self.log is None else self._admin

    def _deps(self) -> LogDeps:
        deps = replace(super()._deps(), encode_group=_encode_inline)
        slow = SlowReads(deps.objects, deps.clock, deps.entropy, self._read_s_max)
        return replace(deps, objects=slow)

    async def _start_background_tasks(self, deps: LogDeps, log: Log) -> None:
        self._topics = TopicCatalog(deps.meta, deps.clock)
        await self._topics.start(deps.tasks)
        self._admin = TopicAdmin(self._topics, deps.meta, LogStreams(log), deps.clock, deps.entropy)
        self._policies = TopicPolicies(self._topics)
        finish = self._admin.finish_deletions
        deps.tasks.every(SWEEP_SECONDS, finish, name="sweep-topics", clock=deps.clock)
        await super()._start_background_tasks(deps, log)

    def _policy_of(self, stream: StreamId) -> RetentionPolicy:
        assert self._policies is not None
        self._policies.refresh()
        return self._policies.of(stream)


async def _encode_inline(group: GroupBytes) -> EncodedGroup:
    return encode_group(group)
