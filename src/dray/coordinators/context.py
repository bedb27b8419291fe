"""Dependencies of the group coordinator, and the context that all its shards share."""

from collections.abc import Callable
from dataclasses import dataclass, field

from dray.cluster.brokers import LiveBrokers
from dray.coordinators.group_store import GroupStore
from dray.coordinators.metrics import GroupGauges, GroupMetrics, unregistered
from dray.groups.limits import GroupLimits
from dray.groups.machine import Env
from dray.groups.timers import Timer
from dray.groups.types import TopicsImage
from dray.meta.port import MetaStore
from dray.runtime import Clock, Tasks, Timers


@dataclass(frozen=True, slots=True)
class CoordinatorDeps:
    """Dependencies of a coordinator."""

    broker_id: int
    meta: MetaStore
    domains: int
    brokers: LiveBrokers
    topics: TopicsImage
    limits_of: Callable[[str], GroupLimits]
    clock: Clock
    tasks: Tasks
    metrics: GroupMetrics = field(default_factory=unregistered)
    is_registered: Callable[[], bool] = lambda: True
    """Whether this broker is registered; if not, others may take over its members at any moment."""


@dataclass(frozen=True, slots=True)
class CoordinatorContext:
    """What all shards of a broker share."""

    broker_id: int
    store: GroupStore
    topics: TopicsImage
    limits_of: Callable[[str], GroupLimits]
    owns: Callable[[str], bool]
    """Whether this broker owns a group: runs its timers and takes over members of dead brokers."""
    clock: Clock
    tasks: Tasks
    timers: Timers[tuple[str, Timer]]
    metrics: GroupMetrics
    gauges: GroupGauges

    def env(self, group_id: str) -> Env:
        return Env(self.limits_of(group_id), self.topics, self.clock.now_ms())
