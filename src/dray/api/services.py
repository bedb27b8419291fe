"""What handlers call: everything below this room, put together by the process."""

from dataclasses import dataclass, field

from dray.api.exchange import Context
from dray.api.settings import KafkaSettings
from dray.cluster.brokers import BrokerInfo, LiveBrokers
from dray.cluster.group_configs import GroupConfigs
from dray.cluster.producer_ids import ProducerIds
from dray.cluster.topics import Topic, Topics
from dray.cluster.zones import preferred, visible_brokers
from dray.coordinators import GroupCoordinator
from dray.ids import StreamId
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
    topics: Topics
    brokers: LiveBrokers
    producer_ids: ProducerIds
    groups: GroupCoordinator
    group_configs: GroupConfigs
    settings: KafkaSettings
    clock: Clock
    entropy: Entropy
    log_dir: str = "object-store"
    """What clients are told when they ask where the log is kept: the object store's URL."""
    threads: Threads = field(default_factory=_threads)
    """For batches that take long to open; whoever made the services stops them."""

    def brokers_for(self, context: Context) -> list[BrokerInfo]:
        """Return the brokers that the client is told of; never none, since this one is there."""
        alive = self.brokers.all()
        return list(visible_brokers(alive, context.zone)) or [self.me]

    def leader_of(self, stream: StreamId, brokers: list[BrokerInfo]) -> BrokerInfo:
        """Return the broker that the client is to ask for a stream; any other would do as well."""
        return preferred(brokers, stream.to_bytes(8, "big"))

    async def topic_named(self, name: str) -> Topic | None:
        """Return the topic; one that this broker has not heard of yet is looked up."""
        return self.topics.find(name) or await self.topics.fresh(name)


def stream_at(topic: Topic | None, partition: int) -> StreamId | None:
    """Return the stream of a partition, if there is such a partition."""
    if topic is None or not 0 <= partition < len(topic.streams):
        return None
    return topic.streams[partition]
