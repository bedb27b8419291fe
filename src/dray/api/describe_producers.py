"""DescribeProducers (key 61), version 0 (KIP-664).

Differences from Kafka:
- No producer has a coordinator epoch or an open transaction, because there are no transactions.
"""

from typing import Final

from dray.acls import Operation, ResourceType
from dray.api.authorization import Access, denied
from dray.api.errors import EXPECTED, RequestRejected, code_of, message_of
from dray.api.exchange import Context
from dray.api.partitions import stream_at
from dray.api.served import Served
from dray.api.services import Services
from dray.cluster.topic_names import why_invalid
from dray.ids import StreamId
from dray.producers import ProducerState
from dray.wire import ErrorCode
from dray.wire.apis import describe_producers as wire

_NO_COORDINATOR = -1


async def handle(
    request: wire.DescribeProducersRequest, context: Context, services: Services
) -> wire.DescribeProducersResponse:
    return wire.DescribeProducersResponse(
        topics=[
            wire.TopicResponse(
                name=topic.name,
                partitions=[
                    await _partition(topic.name, number, context.access, services)
                    for number in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


async def _partition(name: str, number: int, access: Access, services: Services) -> wire.PartitionResponse:
    try:
        if not access.allows_on_topic(Operation.READ, name):
            raise denied(ResourceType.TOPIC)
        producers = await services.log.producers(_stream(name, number, services))
    except EXPECTED as error:
        return wire.PartitionResponse(
            partition_index=number, error_code=code_of(error), error_message=message_of(error)
        )
    return wire.PartitionResponse(
        partition_index=number, active_producers=[_producer(state) for state in producers]
    )


def _stream(name: str, number: int, services: Services) -> StreamId:
    wrong = why_invalid(name)
    if wrong is not None:
        raise RequestRejected(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)
    topic = services.topics.find(name)
    if topic is None:
        raise RequestRejected(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
        )
    stream = stream_at(topic, number)
    if stream is None:
        raise RequestRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return stream


def _producer(state: ProducerState) -> wire.ProducerState:
    last = state.batches[-1]
    return wire.ProducerState(
        producer_id=state.producer_id,
        producer_epoch=state.epoch,
        last_sequence=last.last_sequence,
        last_timestamp=last.timestamp_ms,
        coordinator_epoch=_NO_COORDINATOR,
    )


API: Final = Served(wire.DESCRIBE_PRODUCERS, versions=(0, 0), handle=handle)
