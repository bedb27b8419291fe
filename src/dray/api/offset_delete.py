"""OffsetDelete (key 47), version 0 (KIP-496)."""

from collections.abc import Iterator
from typing import Final

from dray.acls import Operation
from dray.api.errors import EXPECTED, code_of
from dray.api.exchange import Context
from dray.api.group_requests import code_for
from dray.api.partitions import stream_at
from dray.api.served import Served
from dray.api.services import Services
from dray.groups.types import GroupError
from dray.wire import ErrorCode
from dray.wire.apis.offset_delete import (
    OFFSET_DELETE,
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


async def handle(request: OffsetDeleteRequest, context: Context, services: Services) -> OffsetDeleteResponse:
    access = context.access
    if not access.allows_on_group(Operation.DELETE, request.group_id):
        return OffsetDeleteResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    readable = {topic.name for topic in request.topics if access.allows_on_topic(Operation.READ, topic.name)}
    if not request.group_id:
        return OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    known = {
        (topic.name, part.partition_index)
        for topic in request.topics
        if topic.name in readable
        for part in topic.partitions
        if stream_at(await services.topic_named(topic.name), part.partition_index) is not None
    }
    try:
        result, kept = await services.groups.delete_offsets(request.group_id, sorted(known))
    except EXPECTED as error:
        return OffsetDeleteResponse(error_code=code_of(error))
    if result is not GroupError.NONE:
        return OffsetDeleteResponse(error_code=code_for(result))
    return OffsetDeleteResponse(topics=[_result(topic, known, kept, readable) for topic in request.topics])


def _result(
    topic: OffsetDeleteRequestTopic, known: set[tuple[str, int]], kept: frozenset[str], readable: set[str]
) -> OffsetDeleteResponseTopic:
    def code(partition: int) -> ErrorCode:
        if topic.name not in readable:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if (topic.name, partition) not in known:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if topic.name in kept else ErrorCode.NONE

    return OffsetDeleteResponseTopic(
        name=topic.name,
        partitions=[
            OffsetDeleteResponsePartition(
                partition_index=part.partition_index, error_code=code(part.partition_index)
            )
            for part in topic.partitions
        ],
    )


def _changes(request: OffsetDeleteRequest) -> Iterator[str]:
    yield f"GROUP:{request.group_id}"
    for topic in request.topics:
        yield f"TOPIC:{topic.name}"


API: Final = Served(OFFSET_DELETE, versions=(0, 0), handle=handle, changes=_changes)
