"""DeleteRecords (key 21). Versions 0 to 2.

Deviations: the low watermark is the log's start at once, as there are no replicas to wait for.
"""

from dray.api.errors import EXPECTED, Refused, code_of
from dray.api.exchange import Context
from dray.api.services import Services, stream_at
from dray.cluster.topic_names import is_internal
from dray.ids import StreamId
from dray.wire import ErrorCode
from dray.wire.apis.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

_HIGH_WATERMARK = -1
_NO_WATERMARK = -1


async def handle(request: DeleteRecordsRequest, _: Context, services: Services) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[await _delete(topic.name, one, services) for one in topic.partitions],
            )
            for topic in request.topics
        ]
    )


async def _delete(
    name: str, asked: DeleteRecordsPartition, services: Services
) -> DeleteRecordsPartitionResult:
    try:
        start = await _trim(_stream(name, asked.partition_index, services), asked.offset, services)
    except EXPECTED as error:
        return DeleteRecordsPartitionResult(
            partition_index=asked.partition_index, low_watermark=_NO_WATERMARK, error_code=code_of(error)
        )
    return DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=start)


def _stream(name: str, partition: int, services: Services) -> StreamId:
    topic = services.topics.find(name)
    stream = stream_at(topic, partition)
    if topic is None or stream is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if is_internal(name):
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION)
    if topic.config.is_compacted and not topic.config.is_deleted:
        raise Refused(ErrorCode.POLICY_VIOLATION)
    return stream


async def _trim(stream: StreamId, offset: int, services: Services) -> int:
    if offset == _HIGH_WATERMARK:
        offset = (await services.log.head(stream)).high_watermark
    if offset < 0:
        raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
    return await services.log.trim(stream, offset)
