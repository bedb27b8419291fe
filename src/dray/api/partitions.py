"""Partitions of a request: the stream behind each, its leader, and the leader epoch that the client knows."""

from dray.api.errors import RequestRejected
from dray.cluster.brokers import BrokerInfo
from dray.cluster.routing import Routing
from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.log import LEADER_EPOCH
from dray.wire import ErrorCode

_NO_EPOCH = -1


class NotLeader(RequestRejected):
    """This broker does not serve the partition; the client should ask its leader."""

    def __init__(self, leader: BrokerInfo) -> None:
        super().__init__(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.leader = leader


def stream_at(topic: Topic | None, partition: int) -> StreamId | None:
    """Return the stream of a partition; None if there is no such partition."""
    if topic is None or not 0 <= partition < len(topic.streams):
        return None
    return topic.streams[partition]


def check_leader(stream: StreamId, zone: str | None, routing: Routing) -> NotLeader | None:
    """Return the error for a client of a zone that should ask another broker for the stream."""
    leader = routing.other_leader(stream, zone)
    return None if leader is None else NotLeader(leader)


def check_leader_epoch(known: int) -> RequestRejected | None:
    """Return the error for a client that knows another leader epoch than the only one there is."""
    if known in (_NO_EPOCH, LEADER_EPOCH):
        return None
    if known > LEADER_EPOCH:
        return RequestRejected(ErrorCode.UNKNOWN_LEADER_EPOCH)
    return RequestRejected(ErrorCode.FENCED_LEADER_EPOCH)
