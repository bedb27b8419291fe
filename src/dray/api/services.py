"""Services that the handlers of the APIs call."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dray.api.audit import AuditLog
from dray.api.exchange import Drain
from dray.api.fetch_sessions import FetchSessions
from dray.api.settings import KafkaSettings
from dray.cluster.acl_admin import AclAdmin
from dray.cluster.acls import AclView
from dray.cluster.brokers import BrokerInfo
from dray.cluster.group_configs import GroupConfigs
from dray.cluster.producer_ids import ProducerIds
from dray.cluster.quotas import ClientQuotas
from dray.cluster.routing import Routing
from dray.cluster.topic_admin import TopicAdmin
from dray.cluster.topics import Topic, TopicCatalog
from dray.cluster.users import Users
from dray.coordinators import GroupCoordinator
from dray.log import Log
from dray.runtime import Clock, Entropy, Threads

_THREADS = 2


def _threads() -> Threads:
    return Threads("batches", _THREADS)


@dataclass(frozen=True, slots=True)
class Services:
    """The cluster as this broker serves it."""

    cluster_id: str
    me: BrokerInfo
    log: Log
    topics: TopicCatalog
    topic_admin: TopicAdmin
    routing: Routing
    producer_ids: ProducerIds
    groups: GroupCoordinator
    group_configs: GroupConfigs
    quotas: ClientQuotas
    users: Users
    fetch_sessions: FetchSessions
    settings: KafkaSettings
    clock: Clock
    entropy: Entropy
    audit: AuditLog
    acls: AclView | None = None
    """The ACLs of the cluster; None if there is no authorizer."""
    acl_admin: AclAdmin | None = None
    """Changes of `acls`; None if there is no authorizer."""
    listener_configs: Mapping[str, str] = field(default_factory=dict)
    """The configs of the listeners as clients see them, by Kafka's names."""
    log_dir: str = "object-store"
    """The log directory that clients see: the URL of the object store."""
    threads: Threads = field(default_factory=_threads)
    """Threads for batches that take long to decompress; the owner of the services stops them."""
    drain: Drain = field(default_factory=Drain)

    async def topic_named(self, name: str) -> Topic | None:
        """Return a topic, also one that is not in this broker's cache yet."""
        return self.topics.find(name) or await self.topics.fresh(name)
