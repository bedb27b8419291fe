"""ListOffsets (key 2). Versions 1 to 11.

Deviations: nothing is tiered, so the earliest local offset is the earliest one, and there is no latest tiered
offset and none pending upload. Both isolation levels read the same, as there are no transactions.
"""

from collections import Counter

from dray.api.errors import EXPECTED, Refused, code_of
from dray.api.exchange import Context
from dray.api.leader_epoch import check_epoch
from dray.api.services import Services, stream_at
from dray.ids import StreamId
from dray.log import LEADER_EPOCH, TimedOffset
from dray.wire import ErrorCode
from dray.wire.apis.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

_LATEST, _EARLIEST, _MAX_TIMESTAMP, _EARLIEST_LOCAL, _LATEST_TIERED, _PENDING_UPLOAD = -1, -2, -3, -4, -5, -6
_SINCE_VERSION = {_MAX_TIMESTAMP: 7, _EARLIEST_LOCAL: 8, _LATEST_TIERED: 9, _PENDING_UPLOAD: 11}
_NOWHERE = TimedOffset(-1, -1)


async def handle(request: ListOffsetsRequest, context: Context, services: Services) -> ListOffsetsResponse:
    asked = Counter((topic.name, one.partition_index) for topic in request.topics for one in topic.partitions)
    twice = {key for key, times in asked.items() if times > 1}
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    await _answer(topic.name, one, context, services, twice)
                    for one in {one.partition_index: one for one in topic.partitions}.values()
                ],
            )
            for topic in request.topics
        ]
    )


async def _answer(
    name: str, asked: ListOffsetsPartition, context: Context, services: Services, twice: set[tuple[str, int]]
) -> ListOffsetsPartitionResponse:
    try:
        if (name, asked.partition_index) in twice:
            raise Refused(ErrorCode.INVALID_REQUEST)
        stream = _stream(name, asked, context, services)
        found = await _find(stream, asked.timestamp, services)
    except EXPECTED as error:
        return ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=code_of(error))
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        timestamp=found.timestamp_ms,
        offset=found.offset,
        leader_epoch=LEADER_EPOCH if found.offset >= 0 else -1,
    )


def _stream(name: str, asked: ListOffsetsPartition, context: Context, services: Services) -> StreamId:
    stream = stream_at(services.topics.find(name), asked.partition_index)
    if stream is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    refused = check_epoch(asked.current_leader_epoch)
    if refused is not None:
        raise refused
    if asked.timestamp < _PENDING_UPLOAD or context.version < _SINCE_VERSION.get(asked.timestamp, 0):
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    return stream


async def _find(stream: StreamId, timestamp: int, services: Services) -> TimedOffset:
    if timestamp == _LATEST:
        return TimedOffset((await services.log.head(stream)).high_watermark, -1)
    if timestamp in (_EARLIEST, _EARLIEST_LOCAL):
        return TimedOffset((await services.log.head(stream)).log_start, -1)
    if timestamp == _MAX_TIMESTAMP:
        return await services.log.find_newest(stream) or _NOWHERE
    if timestamp in (_LATEST_TIERED, _PENDING_UPLOAD):
        return _NOWHERE
    return await services.log.find_time(stream, timestamp) or _NOWHERE
