"""ListOffsets (key 2), versions 1 to 11.

Version notes:
- 1: a single offset with its timestamp (KIP-79).
- 2: isolation level (KIP-98).
- 4: current leader epoch (KIP-320).
- 6: flexible.
- 7: offset of the largest timestamp, -3 (KIP-734).
- 8: earliest local offset, -4 (KIP-405).
- 9: latest tiered offset, -5 (KIP-1005).
- 10: request timeout (KIP-1075).
- 11: earliest offset pending upload, -6 (KIP-1023).

Differences from Kafka:
- Nothing is tiered: the earliest local offset is the log start offset, the latest tiered offset and the
  earliest offset pending upload do not exist (-1).
- Both isolation levels return the same offsets, because there are no transactions.
"""

from collections import Counter
from typing import Final

from dray.acls import Operation
from dray.api.errors import EXPECTED, RequestRejected, code_of
from dray.api.exchange import Context
from dray.api.partitions import check_leader_epoch, stream_at
from dray.api.served import Served
from dray.api.services import Services
from dray.ids import StreamId
from dray.log import LEADER_EPOCH, TimedOffset
from dray.wire import ErrorCode
from dray.wire.apis.list_offsets import (
    LIST_OFFSETS,
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
    requested = Counter(
        (topic.name, one.partition_index) for topic in request.topics for one in topic.partitions
    )
    twice = {key for key, times in requested.items() if times > 1}
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
    name: str,
    requested: ListOffsetsPartition,
    context: Context,
    services: Services,
    twice: set[tuple[str, int]],
) -> ListOffsetsPartitionResponse:
    try:
        if (name, requested.partition_index) in twice:
            raise RequestRejected(ErrorCode.INVALID_REQUEST)
        context.access.require_on_topic(Operation.DESCRIBE, name)
        stream = _stream(name, requested, context, services)
        found = await _find(stream, requested.timestamp, services)
    except EXPECTED as error:
        return ListOffsetsPartitionResponse(
            partition_index=requested.partition_index, error_code=code_of(error)
        )
    return ListOffsetsPartitionResponse(
        partition_index=requested.partition_index,
        timestamp=found.timestamp_ms,
        offset=found.offset,
        leader_epoch=LEADER_EPOCH if found.offset >= 0 else -1,
    )


def _stream(name: str, requested: ListOffsetsPartition, context: Context, services: Services) -> StreamId:
    stream = stream_at(services.topics.find(name), requested.partition_index)
    if stream is None:
        raise RequestRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    refused = check_leader_epoch(requested.current_leader_epoch)
    if refused is not None:
        raise refused
    if requested.timestamp < _PENDING_UPLOAD or context.version < _SINCE_VERSION.get(requested.timestamp, 0):
        raise RequestRejected(ErrorCode.UNSUPPORTED_VERSION)
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


API: Final = Served(LIST_OFFSETS, versions=(1, 11), handle=handle)
