"""OffsetForLeaderEpoch (key 23), versions 2 to 4.

Version notes:
- 2: current leader epoch (KIP-320).
- 3: replica id (KIP-392).
- 4: flexible.

Differences from Kafka:
- The only leader epoch is 0, and its end offset is the high watermark. Other epochs have no end offset (-1).
"""

from typing import Final

from dray.acls import Operation
from dray.api.errors import EXPECTED, RequestRejected, code_of
from dray.api.exchange import Context
from dray.api.partitions import check_leader_epoch, stream_at
from dray.api.served import Served
from dray.api.services import Services
from dray.log import LEADER_EPOCH
from dray.wire import ErrorCode
from dray.wire.apis.offset_for_leader_epoch import (
    OFFSET_FOR_LEADER_EPOCH,
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


async def handle(
    request: OffsetForLeaderEpochRequest, context: Context, services: Services
) -> OffsetForLeaderEpochResponse:
    access = context.access
    sees_all = access.allows_on_cluster(Operation.CLUSTER_ACTION, audited=False)
    refused = {
        topic.topic
        for topic in request.topics
        if not (sees_all or access.allows_on_topic(Operation.DESCRIBE, topic.topic))
    }
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    _denied(requested)
                    if topic.topic in refused
                    else await _answer(topic.topic, requested, services)
                    for requested in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _denied(requested: OffsetForLeaderPartition) -> EpochEndOffset:
    return EpochEndOffset(partition=requested.partition, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)


async def _answer(name: str, requested: OffsetForLeaderPartition, services: Services) -> EpochEndOffset:
    try:
        return await _end(name, requested, services)
    except EXPECTED as error:
        return EpochEndOffset(partition=requested.partition, error_code=code_of(error))


async def _end(name: str, requested: OffsetForLeaderPartition, services: Services) -> EpochEndOffset:
    stream = stream_at(services.topics.find(name), requested.partition)
    if stream is None:
        raise RequestRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    refused = check_leader_epoch(requested.current_leader_epoch)
    if refused is not None:
        raise refused
    if requested.leader_epoch != LEADER_EPOCH:
        return EpochEndOffset(partition=requested.partition)
    head = await services.log.head(stream)
    return EpochEndOffset(
        partition=requested.partition, leader_epoch=LEADER_EPOCH, end_offset=head.high_watermark
    )


API: Final = Served(OFFSET_FOR_LEADER_EPOCH, versions=(2, 4), handle=handle)
