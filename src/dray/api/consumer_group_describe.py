"""ConsumerGroupDescribe (key 69), versions 0 to 1: groups of the consumer protocol (KIP-848).

Version notes:
- 1: type of each member (KIP-1099).
"""

from typing import Final

from dray.acls import Operation, ResourceType
from dray.api.authorization import NOT_REQUESTED, Access
from dray.api.errors import EXPECTED, RequestRejected, code_of, message_of
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.groups import consumer
from dray.groups.commands import Partitions
from dray.groups.consumer import ConsumerGroup, ConsumerMemberDescription
from dray.wire import ErrorCode
from dray.wire.apis.consumer_group_describe import (
    CONSUMER_GROUP_DESCRIBE,
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)

_CLASSIC, _CONSUMER = 0, 1


async def handle(
    request: ConsumerGroupDescribeRequest, context: Context, services: Services
) -> ConsumerGroupDescribeResponse:
    requested = request.include_authorized_operations
    return ConsumerGroupDescribeResponse(
        groups=[
            await _describe(group_id, requested, context.access, services) for group_id in request.group_ids
        ]
    )


async def _describe(
    group_id: str, with_operations: bool, access: Access, services: Services
) -> DescribedGroup:
    try:
        access.require_on_group(Operation.DESCRIBE, group_id)
        group = await _find(group_id, services)
    except EXPECTED as error:
        return DescribedGroup(group_id=group_id, error_code=code_of(error), error_message=message_of(error))
    shown = consumer.describe(group)
    members = [_member(member, services) for member in shown.members]
    if not all(access.allows_on_topic(Operation.DESCRIBE, name) for name in _topics(members)):
        return DescribedGroup(
            group_id=group_id,
            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            error_message="The group has described topic(s) that the client is not authorized to describe.",
        )
    operations = access.operations(ResourceType.GROUP, group_id) if with_operations else NOT_REQUESTED
    return DescribedGroup(
        group_id=group_id,
        group_state=shown.state,
        group_epoch=shown.epoch,
        assignment_epoch=shown.assignment_epoch,
        assignor_name=shown.assignor,
        members=members,
        authorized_operations=operations,
    )


async def _find(group_id: str, services: Services) -> ConsumerGroup:
    if not group_id:
        raise RequestRejected(ErrorCode.INVALID_GROUP_ID)
    group = await services.groups.find(group_id)
    if group is None:
        raise RequestRejected(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    if not isinstance(group, ConsumerGroup):
        raise RequestRejected(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    return group


def _topics(members: list[Member]) -> list[str]:
    """Return the topics that are, or are to be, assigned to members."""
    assignments = (one for member in members for one in (member.assignment, member.target_assignment))
    return sorted({str(topic.topic_name) for one in assignments for topic in one.topic_partitions})


def _member(member: ConsumerMemberDescription, services: Services) -> Member:
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.names),
        subscribed_topic_regex=member.regex,
        assignment=_assignment(member.assigned, services),
        target_assignment=_assignment(member.target, services),
        member_type=_CLASSIC if member.is_classic else _CONSUMER,
    )


def _assignment(partitions: Partitions, services: Services) -> Assignment:
    """Return the partitions by topic, without topics that were deleted in the meantime."""
    found = ((services.topics.find_id(topic_id), parts) for topic_id, parts in partitions.items())
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic.topic_id, topic_name=topic.name, partitions=list(parts))
            for topic, parts in found
            if topic is not None
        ]
    )


API: Final = Served(CONSUMER_GROUP_DESCRIBE, versions=(0, 1), handle=handle)
