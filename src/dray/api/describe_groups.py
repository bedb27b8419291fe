"""DescribeGroups (key 15), versions 0 to 6: groups of the classic protocol.

Version notes:
- 3: authorized operations (KIP-430).
- 4: group instance ids (KIP-345).
- 5: flexible.
- 6: GROUP_ID_NOT_FOUND with a message (KIP-1043).
"""

from typing import Final

from dray.acls import Operation, ResourceType
from dray.api.authorization import NOT_REQUESTED
from dray.api.errors import EXPECTED, code_of, message_of
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.groups import classic
from dray.groups.classic import ClassicGroup, MemberDescription
from dray.wire import ErrorCode
from dray.wire.apis.describe_groups import (
    DESCRIBE_GROUPS,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

_NOT_FOUND_FROM_VERSION = 6
_DEAD = "Dead"


async def handle(
    request: DescribeGroupsRequest, context: Context, services: Services
) -> DescribeGroupsResponse:
    requested = request.include_authorized_operations
    return DescribeGroupsResponse(
        groups=[await _describe(group_id, requested, context, services) for group_id in request.groups]
    )


async def _describe(
    group_id: str, with_operations: bool, context: Context, services: Services
) -> DescribedGroup:
    try:
        context.access.require_on_group(Operation.DESCRIBE, group_id)
        group = await services.groups.find(group_id)
    except EXPECTED as error:
        return DescribedGroup(group_id=group_id, error_code=code_of(error), error_message=message_of(error))
    operations = NOT_REQUESTED
    if with_operations:
        operations = context.access.operations(ResourceType.GROUP, group_id)
    if isinstance(group, ClassicGroup):
        return _described(group_id, group, operations)
    if context.version < _NOT_FOUND_FROM_VERSION:
        return DescribedGroup(group_id=group_id, group_state=_DEAD, authorized_operations=operations)
    why = "not found" if group is None else "is not a classic group"
    return DescribedGroup(
        group_id=group_id,
        group_state=_DEAD,
        error_code=ErrorCode.GROUP_ID_NOT_FOUND,
        error_message=f"Group {group_id} {why}.",
    )


def _described(group_id: str, group: ClassicGroup, operations: int) -> DescribedGroup:
    shown = classic.describe(group)
    return DescribedGroup(
        group_id=group_id,
        group_state=shown.state,
        protocol_type=shown.protocol_type,
        protocol_data=shown.protocol,
        members=[_member(member) for member in shown.members],
        authorized_operations=operations,
    )


def _member(member: MemberDescription) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata,
        member_assignment=member.assignment,
    )


API: Final = Served(DESCRIBE_GROUPS, versions=(0, 6), handle=handle)
