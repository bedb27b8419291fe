"""What the halves of the log share, for the whole process and per domain."""

from dataclasses import dataclass

from dray.ids import MetaDomain
from dray.log.complaints import Complaints
from dray.log.heads import Heads
from dray.log.index_cache import IndexCache
from dray.log.lost_sequences import LostSequences
from dray.log.metrics import LogMetrics
from dray.log.recent import RecentChunks
from dray.log.reservations import Reservations
from dray.log.row_groups import Encode, no_parquet
from dray.log.settings import LogSettings
from dray.log.states import StreamStates
from dray.meta.port import Domain, MetaStore
from dray.objects.port import ObjectStore
from dray.runtime import ByteBudget, Clock, Entropy, Tasks


@dataclass(frozen=True, slots=True)
class LogParts:
    """What a process gives its log. `objects` is retried and metered already, and not cached."""

    meta: MetaStore
    objects: ObjectStore
    clock: Clock
    entropy: Entropy
    tasks: Tasks
    settings: LogSettings
    metrics: LogMetrics
    zone: str = "none"
    domains: int = 1
    encode_group: Encode = no_parquet


@dataclass(frozen=True, slots=True)
class Shared:
    """The bounded memory of one process, shared by all domains."""

    index: IndexCache
    recent: RecentChunks
    budget: ByteBudget
    complaints: Complaints


@dataclass(frozen=True, slots=True)
class DomainParts:
    """Everything about one domain that the write path uses."""

    domain: MetaDomain
    store_domain: Domain
    log: LogParts
    shared: Shared
    states: StreamStates
    heads: Heads
    reservations: Reservations
    lost_sequences: LostSequences
