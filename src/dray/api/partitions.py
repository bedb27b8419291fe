"""Partitions of a request: the stream behind each, its leader, and the leader epoch that the client knows.

The responses to Produce and Fetch name leaders in the same way, each with structs of its own.
"""

from collections.abc import Iterable
from typing import Protocol, TypeVar

from dray.api.errors import RequestRejected
from dray.cluster.brokers import BrokerInfo, Endpoint
from dray.cluster.routing import Routing
from dray.cluster.topics import Topic
from dray.cluster.zones import Origin, address_for
from dray.ids import StreamId
from dray.log import LEADER_EPOCH
from dray.wire import ErrorCode

_NO_EPOCH = -1
T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class NotLeader(RequestRejected):
    """This broker does not serve the partition; the client should ask its leader."""

    def __init__(self, leader: BrokerInfo, address: Endpoint) -> None:
        super().__init__(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.leader = leader
        self.address = address


class MakeLeader(Protocol[T_co]):
    """The `LeaderIdAndEpoch` of a response; without arguments, no leader."""

    def __call__(self, *, leader_id: int = ..., leader_epoch: int = ...) -> T_co: ...


class MakeEndpoint(Protocol[T_co]):
    """The `NodeEndpoint` of a response."""

    def __call__(self, *, node_id: int, host: str, port: int, rack: str | None) -> T_co: ...


def stream_at(topic: Topic | None, partition: int) -> StreamId | None:
    """Return the stream of a partition; None if there is no such partition."""
    if topic is None or not 0 <= partition < len(topic.streams):
        return None
    return topic.streams[partition]


def check_leader(stream: StreamId, origin: Origin, routing: Routing) -> NotLeader | None:
    """Return the error for a client of an origin that should ask another broker for the stream."""
    leader = routing.other_leader(stream, origin)
    return None if leader is None else NotLeader(leader, address_for(leader, origin))


def current_leader(error: BaseException, make: MakeLeader[T]) -> T:
    """Return the leader that an error names to the client, or none."""
    if isinstance(error, NotLeader):
        return make(leader_id=error.leader.broker_id, leader_epoch=LEADER_EPOCH)
    return make()


def leader_endpoints(outcomes: Iterable[object], make: MakeEndpoint[T]) -> list[T]:
    """Return the address of each broker that errors among the outcomes name as a leader."""
    named = {one.leader.broker_id: one for one in outcomes if isinstance(one, NotLeader)}
    return [
        make(node_id=number, host=one.address.host, port=one.address.port, rack=one.leader.zone)
        for number, one in named.items()
    ]


def check_leader_epoch(known: int) -> RequestRejected | None:
    """Return the error for a client that knows another leader epoch than the only one there is."""
    if known in (_NO_EPOCH, LEADER_EPOCH):
        return None
    if known > LEADER_EPOCH:
        return RequestRejected(ErrorCode.UNKNOWN_LEADER_EPOCH)
    return RequestRejected(ErrorCode.FENCED_LEADER_EPOCH)
