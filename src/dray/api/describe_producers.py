"""DescribeProducers (key 61). Version 0.

Deviations: there are no transactions, so no producer has a coordinator's epoch or an open transaction.
"""

from dray.api.errors import EXPECTED, Refused, code_of, message_of
from dray.api.exchange import Context
from dray.api.services import Services, stream_at
from dray.cluster.topic_names import why_invalid
from dray.ids import StreamId
from dray.producers import ProducerState
from dray.wire import ErrorCode
from dray.wire.apis import describe_producers as wire

_NO_COORDINATOR = -1


async def handle(
    request: wire.DescribeProducersRequest, _: Context, services: Services
) -> wire.DescribeProducersResponse:
    return wire.DescribeProducersResponse(
        topics=[
            wire.TopicResponse(
                name=topic.name,
                partitions=[
                    await _partition(topic.name, number, services) for number in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


async def _partition(name: str, number: int, services: Services) -> wire.PartitionResponse:
    try:
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
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)
    topic = services.topics.find(name)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
    stream = stream_at(topic, number)
    if stream is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
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
