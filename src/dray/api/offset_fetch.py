"""OffsetFetch (key 9), versions 1 to 10.

Version notes:
- 2: all topics of a group; top-level error code.
- 5: leader epoch (KIP-320).
- 6: flexible.
- 7: `require_stable` (KIP-447).
- 8: several groups in one request (KIP-709).
- 9: member id and epoch of the consumer protocol (KIP-848).
- 10: topic ids (KIP-848).

Differences from Kafka:
- Every offset is stable, because there are no transactions.

An offset committed for a topic that was deleted since is not returned, even if a new topic has the same name.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from dray.acls import Operation
from dray.api.authorization import Access
from dray.api.errors import EXPECTED, code_of
from dray.api.exchange import Context
from dray.api.group_requests import code_for
from dray.api.served import Served
from dray.api.services import Services
from dray.cluster.topics import Topic
from dray.groups.commands import OffsetCommitter
from dray.groups.types import CommittedOffset, GroupError
from dray.wire import ErrorCode
from dray.wire.apis.offset_fetch import (
    OFFSET_FETCH,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

_GROUPS_FROM_VERSION = 8
_TOP_LEVEL_ERROR_FROM_VERSION = 2
_IDS_FROM_VERSION = 10
_NO_OFFSET: Final = -1


class _Asked(NamedTuple):
    """A requested topic, and the present topic of that name or id, if there is one."""

    topic: OffsetFetchRequestTopics
    now: Topic | None


async def handle(request: OffsetFetchRequest, context: Context, services: Services) -> OffsetFetchResponse:
    if context.version >= _GROUPS_FROM_VERSION:
        return OffsetFetchResponse(groups=[await _group(one, context, services) for one in request.groups])
    topics = request.topics
    group = OffsetFetchRequestGroup(
        group_id=request.group_id,
        topics=None
        if topics is None
        else [
            OffsetFetchRequestTopics(name=one.name, partition_indexes=one.partition_indexes) for one in topics
        ],
    )
    return _single(await _group(group, context, services), group, context)


async def _group(
    requested: OffsetFetchRequestGroup, context: Context, services: Services
) -> OffsetFetchResponseGroup:
    if not context.access.allows_on_group(Operation.DESCRIBE, requested.group_id):
        return OffsetFetchResponseGroup(
            group_id=requested.group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED
        )
    try:
        result = await _group_error(requested, services)
        if result is not GroupError.NONE:
            return OffsetFetchResponseGroup(group_id=requested.group_id, error_code=code_for(result))
        if requested.topics is None:
            topics = await _all(requested.group_id, context.access, services)
        else:
            topics = [
                await _topic(requested.group_id, await _find(one, context, services), context, services)
                for one in requested.topics
            ]
    except EXPECTED as error:
        return OffsetFetchResponseGroup(group_id=requested.group_id, error_code=code_of(error))
    return OffsetFetchResponseGroup(group_id=requested.group_id, topics=topics)


async def _group_error(requested: OffsetFetchRequestGroup, services: Services) -> GroupError:
    if requested.member_id is None and requested.member_epoch < 0:
        return GroupError.NONE
    member_id, epoch = requested.member_id or "", requested.member_epoch
    committer = OffsetCommitter(member_id, None, epoch, services.me.broker_id)
    return await services.groups.fetch_error(requested.group_id, committer)


async def _find(requested: OffsetFetchRequestTopics, context: Context, services: Services) -> _Asked:
    by_id = context.version >= _IDS_FROM_VERSION
    now = services.topics.find_id(requested.topic_id) if by_id else await services.topic_named(requested.name)
    return _Asked(requested, now)


async def _topic(
    group_id: str, requested: _Asked, context: Context, services: Services
) -> OffsetFetchResponseTopics:
    topic, now = requested
    code, found = ErrorCode.NONE, {}
    name = topic.name if now is None else now.name
    if name and not context.access.allows_on_topic(Operation.DESCRIBE, name):
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    elif now is not None:
        stored = await services.groups.offsets(group_id, now.name)
        if any(one.offset.topic_id != now.topic_id for one in stored):
            now = await services.topics.fresh(now.name)  # the topic may be newer than this broker's cache
        topic_id = None if now is None else now.topic_id
        found = {one.partition: one.offset for one in stored if one.offset.topic_id == topic_id}
    elif context.version >= _IDS_FROM_VERSION:
        code = ErrorCode.UNKNOWN_TOPIC_ID
    return OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=_partitions(topic.partition_indexes, found, code),
    )


async def _all(group_id: str, access: Access, services: Services) -> list[OffsetFetchResponseTopics]:
    by_topic: dict[str, dict[int, CommittedOffset]] = {}
    for one in await services.groups.offsets(group_id):
        topic = await services.topic_named(one.topic)
        if topic is None or topic.topic_id != one.offset.topic_id:
            continue
        if access.allows_on_topic(Operation.DESCRIBE, topic.name):
            by_topic.setdefault(one.topic, {})[one.partition] = one.offset
    return [
        OffsetFetchResponseTopics(
            name=name,
            topic_id=next(iter(found.values())).topic_id,
            partitions=_partitions(sorted(found), found, ErrorCode.NONE),
        )
        for name, found in by_topic.items()
    ]


def _partitions(
    indexes: Iterable[int], found: Mapping[int, CommittedOffset], code: ErrorCode
) -> list[OffsetFetchResponsePartitions]:
    return [_partition(index, found.get(index), code) for index in indexes]


def _partition(index: int, found: CommittedOffset | None, code: ErrorCode) -> OffsetFetchResponsePartitions:
    if found is None:
        return OffsetFetchResponsePartitions(
            partition_index=index, committed_offset=_NO_OFFSET, error_code=code
        )
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=found.offset,
        committed_leader_epoch=found.leader_epoch,
        metadata=found.metadata,
    )


def _single(
    group: OffsetFetchResponseGroup, requested: OffsetFetchRequestGroup, context: Context
) -> OffsetFetchResponse:
    topics: Sequence[OffsetFetchResponseTopics] = group.topics
    if group.error_code and context.version < _TOP_LEVEL_ERROR_FROM_VERSION:
        failed = ErrorCode(group.error_code)
        topics = [
            OffsetFetchResponseTopics(
                name=one.name, partitions=_partitions(one.partition_indexes, {}, failed)
            )
            for one in requested.topics or ()
        ]
    return OffsetFetchResponse(
        error_code=group.error_code,
        topics=[
            OffsetFetchResponseTopic(name=one.name, partitions=[_old(part) for part in one.partitions])
            for one in topics
        ],
    )


def _old(part: OffsetFetchResponsePartitions) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        partition_index=part.partition_index,
        committed_offset=part.committed_offset,
        committed_leader_epoch=part.committed_leader_epoch,
        metadata=part.metadata,
        error_code=part.error_code,
    )


API: Final = Served(OFFSET_FETCH, versions=(1, 10), handle=handle)
