"""OffsetForLeaderEpoch (key 23). Versions 2 to 4.

Deviations: there is one leader epoch, 0, for ever, and it ends where the log ends. Of any other nothing is
known.
"""

from dray.api.errors import EXPECTED, Refused, code_of
from dray.api.exchange import Context
from dray.api.leader_epoch import check_epoch
from dray.api.services import Services, stream_at
from dray.log import LEADER_EPOCH
from dray.wire import ErrorCode
from dray.wire.apis.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


async def handle(
    request: OffsetForLeaderEpochRequest, _: Context, services: Services
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[await _answer(topic.topic, asked, services) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
    )


async def _answer(name: str, asked: OffsetForLeaderPartition, services: Services) -> EpochEndOffset:
    try:
        return await _end(name, asked, services)
    except EXPECTED as error:
        return EpochEndOffset(partition=asked.partition, error_code=code_of(error))


async def _end(name: str, asked: OffsetForLeaderPartition, services: Services) -> EpochEndOffset:
    stream = stream_at(services.topics.find(name), asked.partition)
    if stream is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    refused = check_epoch(asked.current_leader_epoch)
    if refused is not None:
        raise refused
    if asked.leader_epoch != LEADER_EPOCH:
        return EpochEndOffset(partition=asked.partition)
    head = await services.log.head(stream)
    return EpochEndOffset(
        partition=asked.partition, leader_epoch=LEADER_EPOCH, end_offset=head.high_watermark
    )
