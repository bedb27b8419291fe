"""OffsetCommit (key 8), versions 2 to 10.

Version notes:
- 2: retention time of the offsets.
- 5: no retention time; the broker's setting decides (KIP-211).
- 6: leader epoch (KIP-320).
- 7: group instance id (KIP-345).
- 8: flexible.
- 9: member epochs of the consumer protocol (KIP-848).
- 10: topic ids (KIP-848).

An offset is stored with the id of its topic as this broker knows it. As in Kafka, where a coordinator learns
of changes just as late, an offset that is committed right after its topic was deleted and created again may
be refused, or accepted and lost.
"""

from dataclasses import dataclass
from typing import Final

from dray.acls import Operation
from dray.api.errors import EXPECTED, code_of
from dray.api.exchange import Context
from dray.api.group_requests import code_for
from dray.api.served import Served
from dray.api.services import Services
from dray.cluster.topics import Topic
from dray.groups.commands import OffsetCommitter
from dray.groups.types import CommittedOffset
from dray.wire import ErrorCode
from dray.wire.apis.offset_commit import (
    OFFSET_COMMIT,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

_EPOCHS_FROM_VERSION = 9
_IDS_FROM_VERSION = 10
_DEFAULT_RETENTION = -1


@dataclass(frozen=True, slots=True)
class _Checked:
    """A partition: the offset to commit, or the error."""

    index: int
    offset: CommittedOffset | ErrorCode
    topic: str = ""
    """The topic's name; empty if it is unknown."""


async def handle(request: OffsetCommitRequest, context: Context, services: Services) -> OffsetCommitResponse:
    if not context.access.allows_on_group(Operation.READ, request.group_id):
        return _failed(request, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    checked = [(topic, await _check_topic(topic, request, context, services)) for topic in request.topics]
    offsets = {
        (one.topic, one.index): one.offset
        for _, parts in checked
        for one in parts
        if isinstance(one.offset, CommittedOffset)
    }
    committer = OffsetCommitter(
        request.member_id,
        request.group_instance_id,
        request.generation_id_or_member_epoch,
        services.me.broker_id,
        supports_member_epochs=context.version >= _EPOCHS_FROM_VERSION,
    )
    outcome = ErrorCode.NONE
    if offsets:
        try:
            outcome = code_for(await services.groups.commit(request.group_id, committer, offsets))
        except EXPECTED as error:
            outcome = code_of(error)
    return OffsetCommitResponse(topics=[_result(topic, parts, outcome) for topic, parts in checked])


async def _check_topic(
    requested: OffsetCommitRequestTopic, request: OffsetCommitRequest, context: Context, services: Services
) -> list[_Checked]:
    by_id = context.version >= _IDS_FROM_VERSION
    topic = (
        services.topics.find_id(requested.topic_id) if by_id else await services.topic_named(requested.name)
    )
    name = topic.name if topic is not None else requested.name
    if name and not context.access.allows_on_topic(Operation.READ, name):
        return _all(requested, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if topic is None:
        return _all(requested, ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return [_check(topic, one, request, services) for one in requested.partitions]


def _all(requested: OffsetCommitRequestTopic, code: ErrorCode) -> list[_Checked]:
    return [_Checked(one.partition_index, code) for one in requested.partitions]


def _failed(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(topics=[_result(topic, _all(topic, code), code) for topic in request.topics])


def _length(metadata: str) -> int:
    """Return the length as Java counts it, in UTF-16 units."""
    return len(metadata.encode("utf-16-le", "surrogatepass")) // 2


def _check(
    topic: Topic, requested: OffsetCommitRequestPartition, request: OffsetCommitRequest, services: Services
) -> _Checked:
    index, metadata = requested.partition_index, requested.committed_metadata or ""
    if not 0 <= index < len(topic.streams):
        return _Checked(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if _length(metadata) > services.groups.limits_of(request.group_id).offset_metadata_max_bytes:
        return _Checked(index, ErrorCode.OFFSET_METADATA_TOO_LARGE)
    now_ms = services.clock.now_ms()
    retention_ms = request.retention_time_ms
    offset = CommittedOffset(
        offset=requested.committed_offset,
        leader_epoch=requested.committed_leader_epoch,
        metadata=metadata,
        committed_at_ms=now_ms,
        expires_at_ms=None if retention_ms == _DEFAULT_RETENTION else now_ms + retention_ms,
        topic_id=topic.topic_id,
    )
    return _Checked(index, offset, topic.name)


def _result(
    topic: OffsetCommitRequestTopic, parts: list[_Checked], outcome: ErrorCode
) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetCommitResponsePartition(
                partition_index=one.index,
                error_code=one.offset if isinstance(one.offset, ErrorCode) else outcome,
            )
            for one in parts
        ],
    )


API: Final = Served(OFFSET_COMMIT, versions=(2, 10), handle=handle)
