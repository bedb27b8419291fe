"""OffsetCommit (key 8). Versions 2 to 10."""

from dataclasses import dataclass

from dray.api.errors import EXPECTED, code_of
from dray.api.exchange import Context
from dray.api.group_asks import code_for
from dray.api.services import Services
from dray.cluster.topics import Topic
from dray.coordinators import OffsetGiven
from dray.groups.asks import Committer
from dray.groups.stored import CommittedOffset
from dray.wire import ErrorCode
from dray.wire.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

_EPOCHS_FROM_VERSION = 9
_IDS_FROM_VERSION = 10
_KEPT_AS_USUAL = -1


@dataclass(frozen=True, slots=True)
class _Judged:
    """One partition: what is to be committed, or why not."""

    index: int
    given: OffsetGiven | ErrorCode


async def handle(request: OffsetCommitRequest, context: Context, services: Services) -> OffsetCommitResponse:
    judged = [(topic, await _judge_topic(topic, request, context, services)) for topic in request.topics]
    given = [one.given for _, parts in judged for one in parts if isinstance(one.given, OffsetGiven)]
    committer = Committer(
        request.member_id,
        request.group_instance_id,
        request.generation_id_or_member_epoch,
        services.me.broker_id,
        knows_epochs=context.version >= _EPOCHS_FROM_VERSION,
    )
    outcome = ErrorCode.NONE
    if given:
        try:
            outcome = code_for(await services.groups.commit(request.group_id, committer, given))
        except EXPECTED as error:
            outcome = code_of(error)
    return OffsetCommitResponse(topics=[_told(topic, parts, outcome) for topic, parts in judged])


async def _judge_topic(
    asked: OffsetCommitRequestTopic, request: OffsetCommitRequest, context: Context, services: Services
) -> list[_Judged]:
    by_id = context.version >= _IDS_FROM_VERSION
    topic = services.topics.find_id(asked.topic_id) if by_id else await services.topic_named(asked.name)
    if topic is None:
        code = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return [_Judged(one.partition_index, code) for one in asked.partitions]
    return [_judge(topic, one, request, services) for one in asked.partitions]


def _length(note: str) -> int:
    """Count as Java does, in units of UTF-16."""
    return len(note.encode("utf-16-le", "surrogatepass")) // 2


def _judge(
    topic: Topic, asked: OffsetCommitRequestPartition, request: OffsetCommitRequest, services: Services
) -> _Judged:
    index, note = asked.partition_index, asked.committed_metadata or ""
    if not 0 <= index < len(topic.streams):
        return _Judged(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if _length(note) > services.groups.limits_of(request.group_id).offset_metadata_max_bytes:
        return _Judged(index, ErrorCode.OFFSET_METADATA_TOO_LARGE)
    now_ms = services.clock.now_ms()
    kept_ms = request.retention_time_ms
    offset = CommittedOffset(
        offset=asked.committed_offset,
        leader_epoch=asked.committed_leader_epoch,
        metadata=note,
        committed_at_ms=now_ms,
        expires_at_ms=None if kept_ms == _KEPT_AS_USUAL else now_ms + kept_ms,
        topic_id=topic.topic_id,
    )
    return _Judged(index, OffsetGiven(topic.name, index, offset))


def _told(
    topic: OffsetCommitRequestTopic, parts: list[_Judged], outcome: ErrorCode
) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetCommitResponsePartition(
                partition_index=one.index,
                error_code=one.given if isinstance(one.given, ErrorCode) else outcome,
            )
            for one in parts
        ],
    )
