"""Partitions of a request: the stream behind each, and the check of the leader epoch that a client knows."""

from dray.api.errors import RequestRejected
from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.log import LEADER_EPOCH
from dray.wire import ErrorCode

_NO_EPOCH = -1


def stream_at(topic: Topic | None, partition: int) -> StreamId | None:
    """Return the stream of a partition; None if there is no such partition."""
    if topic is None or not 0 <= partition < len(topic.streams):
        return None
    return topic.streams[partition]


def check_leader_epoch(known: int) -> RequestRejected | None:
    """Return the error for a client that knows another leader epoch than the only one there is."""
    if known in (_NO_EPOCH, LEADER_EPOCH):
        return None
    if known > LEADER_EPOCH:
        return RequestRejected(ErrorCode.UNKNOWN_LEADER_EPOCH)
    return RequestRejected(ErrorCode.FENCED_LEADER_EPOCH)
