"""DeleteRecords (key 21), versions 0 to 2.

Version notes:
- 2: flexible.

Differences from Kafka:
- The low watermark is the new log start offset at once: there are no replicas to wait for.
"""

from collections.abc import Iterator
from typing import Final

from dray.acls import Operation
from dray.api.authorization import Access
from dray.api.errors import EXPECTED, RequestRejected, code_of
from dray.api.exchange import Context
from dray.api.partitions import stream_at
from dray.api.served import Served
from dray.api.services import Services
from dray.cluster.topic_names import is_internal
from dray.ids import StreamId
from dray.wire import ErrorCode
from dray.wire.apis.delete_records import (
    DELETE_RECORDS,
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

_HIGH_WATERMARK = -1
_NO_WATERMARK = -1


async def handle(
    request: DeleteRecordsRequest, context: Context, services: Services
) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    await _delete(topic.name, one, context.access, services) for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


async def _delete(
    name: str, requested: DeleteRecordsPartition, access: Access, services: Services
) -> DeleteRecordsPartitionResult:
    try:
        access.require_on_topic(Operation.DELETE, name)
        start = await _trim(_stream(name, requested.partition_index, services), requested.offset, services)
    except EXPECTED as error:
        return DeleteRecordsPartitionResult(
            partition_index=requested.partition_index, low_watermark=_NO_WATERMARK, error_code=code_of(error)
        )
    return DeleteRecordsPartitionResult(partition_index=requested.partition_index, low_watermark=start)


def _stream(name: str, partition: int, services: Services) -> StreamId:
    topic = services.topics.find(name)
    stream = stream_at(topic, partition)
    if topic is None or stream is None:
        raise RequestRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if is_internal(name):
        raise RequestRejected(ErrorCode.INVALID_TOPIC_EXCEPTION)
    if topic.config.is_compacted and not topic.config.is_deleted:
        raise RequestRejected(ErrorCode.POLICY_VIOLATION)
    return stream


async def _trim(stream: StreamId, offset: int, services: Services) -> int:
    if offset == _HIGH_WATERMARK:
        offset = (await services.log.head(stream)).high_watermark
    if offset < 0:
        raise RequestRejected(ErrorCode.OFFSET_OUT_OF_RANGE)
    return await services.log.trim(stream, offset)


def _changes(request: DeleteRecordsRequest) -> Iterator[str]:
    for topic in request.topics:
        for one in topic.partitions:
            yield f"TOPIC:{topic.name}-{one.partition_index} before {one.offset}"


API: Final = Served(DELETE_RECORDS, versions=(0, 2), handle=handle, changes=_changes)
