"""DescribeTopicPartitions (key 75), version 0 (KIP-966).

Differences from Kafka:
- The only replica of a partition is the broker that is reported as its leader, as in Metadata.
"""

from typing import Final

from dray.acls import Operation, ResourceType
from dray.api.authorization import Access
from dray.api.broker_configs import PARTITIONS_DESCRIBED_MAX
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.cluster.topic_names import is_internal, is_valid_name
from dray.cluster.topics import Topic
from dray.log import LEADER_EPOCH
from dray.wire import ErrorCode
from dray.wire.apis.describe_topic_partitions import (
    DESCRIBE_TOPIC_PARTITIONS,
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)


async def handle(
    request: DescribeTopicPartitionsRequest, context: Context, services: Services
) -> DescribeTopicPartitionsResponse:
    if not _is_valid(request):
        return DescribeTopicPartitionsResponse(
            topics=[
                DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.INVALID_REQUEST, name=topic.name)
                for topic in request.topics
            ]
        )
    page = _Page(request, context, services)
    names, hidden = _names(request, context.access, services)
    for name in names:
        if not page.add(name, services.topics.find(name)):
            break
    return DescribeTopicPartitionsResponse(
        topics=[*page.topics, *map(_hidden, hidden)], next_cursor=page.next
    )


def _is_valid(request: DescribeTopicPartitionsRequest) -> bool:
    cursor = request.cursor
    if cursor is None:
        return True
    names = {topic.name for topic in request.topics}
    return cursor.partition_index >= 0 and (not names or cursor.topic_name in names)


def _names(
    request: DescribeTopicPartitionsRequest, access: Access, services: Services
) -> tuple[list[str], list[str]]:
    """Return the topics from the cursor on, sorted, and those named that the client may not describe."""
    first = "" if request.cursor is None else request.cursor.topic_name
    asked = {topic.name for topic in request.topics}
    names = sorted(name for name in asked or {topic.name for topic in services.topics.all()} if name >= first)
    shown: list[str] = []
    hidden: list[str] = []
    for name in names:
        allowed = access.allows_on_topic(Operation.DESCRIBE, name, audited=bool(asked))
        (shown if allowed else hidden).append(name)
    return shown, hidden if asked else []


def _hidden(name: str) -> DescribeTopicPartitionsResponseTopic:
    """Return a topic that the client may not describe; it does not count towards the limit of a page."""
    return DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=name)


class _Page:
    """One page of the response, up to the partition limit."""

    def __init__(self, request: DescribeTopicPartitionsRequest, context: Context, services: Services) -> None:
        self.topics: list[DescribeTopicPartitionsResponseTopic] = []
        self.next: Cursor | None = None
        self._cursor = request.cursor
        self._context = context
        self._services = services
        self._left = max(min(request.response_partition_limit, PARTITIONS_DESCRIBED_MAX), 1)

    def add(self, name: str, topic: Topic | None) -> bool:
        """Add a topic; returns false when the page is full, with `next` as the cursor of the next one."""
        if self._left == 0:
            self.next = Cursor(topic_name=name, partition_index=0)
            return False
        if topic is None:
            self.topics.append(self._missing(name))
            return True
        cursor = self._cursor
        start = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        end = min(start + self._left, len(topic.streams))
        self.topics.append(self._described(topic, start, end))
        self._left -= max(end - start, 0)
        if end < len(topic.streams):
            self.next = Cursor(topic_name=name, partition_index=end)
        return self.next is None

    def _missing(self, name: str) -> DescribeTopicPartitionsResponseTopic:
        valid = is_valid_name(name)
        return DescribeTopicPartitionsResponseTopic(
            error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if valid else ErrorCode.INVALID_TOPIC_EXCEPTION,
            name=name,
            is_internal=is_internal(name),
            topic_authorized_operations=self._context.access.operations(ResourceType.TOPIC, name),
        )

    def _described(self, topic: Topic, start: int, end: int) -> DescribeTopicPartitionsResponseTopic:
        routing, origin = self._services.routing, self._context.origin
        leaders = [routing.leader(stream, origin).broker_id for stream in topic.streams[start:end]]
        return DescribeTopicPartitionsResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=is_internal(topic.name),
            partitions=[_partition(number, leader) for number, leader in enumerate(leaders, start)],
            topic_authorized_operations=self._context.access.operations(ResourceType.TOPIC, topic.name),
        )


def _partition(number: int, leader: int) -> DescribeTopicPartitionsResponsePartition:
    return DescribeTopicPartitionsResponsePartition(
        partition_index=number,
        leader_id=leader,
        leader_epoch=LEADER_EPOCH,
        replica_nodes=[leader],
        isr_nodes=[leader],
        eligible_leader_replicas=[],
        last_known_elr=[],
    )


API: Final = Served(DESCRIBE_TOPIC_PARTITIONS, versions=(0, 0), handle=handle)
