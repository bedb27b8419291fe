"""DescribeTopicPartitions (key 75), version 0 (KIP-966).

Differences from Kafka:
- The only replica of a partition is the broker that is reported as its leader, as in Metadata.
"""

from collections.abc import Iterator
from typing import Final

from dray.acls import Operation, ResourceType
from dray.api.authorization import Access, denied
from dray.api.broker_configs import PARTITIONS_DESCRIBED_MAX
from dray.api.errors import RequestRejected
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
    for name, topic in _wanted(request, context.access, services):
        if not page.add(name, topic):
            break
    return DescribeTopicPartitionsResponse(topics=page.topics, next_cursor=page.next)


def _is_valid(request: DescribeTopicPartitionsRequest) -> bool:
    cursor = request.cursor
    if cursor is None:
        return True
    names = {topic.name for topic in request.topics}
    return cursor.partition_index >= 0 and (not names or cursor.topic_name in names)


def _wanted(
    request: DescribeTopicPartitionsRequest, access: Access, services: Services
) -> Iterator[tuple[str, Topic | RequestRejected]]:
    """Yield the topics from the cursor on, by name.

    Those that the client may not describe are among them only if it named them.
    """
    first = "" if request.cursor is None else request.cursor.topic_name
    asked = {topic.name for topic in request.topics}
    for name in sorted(asked or {topic.name for topic in services.topics.all()}):
        if name < first:
            continue
        if access.allows_on_topic(Operation.DESCRIBE, name, audited=bool(asked)):
            yield name, services.topics.find(name) or _unknown(name)
        elif asked:
            yield name, denied(ResourceType.TOPIC)


class _Page:
    """One page of the response, up to the partition limit."""

    def __init__(self, request: DescribeTopicPartitionsRequest, context: Context, services: Services) -> None:
        self.topics: list[DescribeTopicPartitionsResponseTopic] = []
        self.next: Cursor | None = None
        self._cursor = request.cursor
        self._context = context
        self._services = services
        self._left = max(min(request.response_partition_limit, PARTITIONS_DESCRIBED_MAX), 1)

    def add(self, name: str, topic: Topic | RequestRejected) -> bool:
        """Add a topic; returns false when the page is full, with `next` as the cursor of the next one."""
        if self._left == 0:
            self.next = Cursor(topic_name=name, partition_index=0)
            return False
        if isinstance(topic, RequestRejected):
            self.topics.append(self._failed(name, topic))
            return True
        cursor = self._cursor
        start = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        end = min(start + self._left, len(topic.streams))
        self.topics.append(self._described(topic, start, end))
        self._left -= max(end - start, 0)
        if end < len(topic.streams):
            self.next = Cursor(topic_name=name, partition_index=end)
        return self.next is None

    def _failed(self, name: str, error: RequestRejected) -> DescribeTopicPartitionsResponseTopic:
        return DescribeTopicPartitionsResponseTopic(
            error_code=error.code,
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


def _unknown(name: str) -> RequestRejected:
    valid = is_valid_name(name)
    return RequestRejected(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if valid else ErrorCode.INVALID_TOPIC_EXCEPTION
    )


API: Final = Served(DESCRIBE_TOPIC_PARTITIONS, versions=(0, 0), handle=handle)
