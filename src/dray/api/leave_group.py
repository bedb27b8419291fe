"""LeaveGroup (key 13), versions 0 to 5: classic protocol.

Version notes:
- 3: several members in one request; group instance ids (KIP-345).
- 4: flexible.
- 5: reason (KIP-800).
"""

from typing import Final

from dray.acls import Operation
from dray.api.errors import EXPECTED, code_of
from dray.api.exchange import Context
from dray.api.group_requests import code_for
from dray.api.served import Served
from dray.api.services import Services
from dray.groups.commands import Leave, LeavingMember
from dray.wire import ErrorCode
from dray.wire.apis.leave_group import LEAVE_GROUP, LeaveGroupRequest, LeaveGroupResponse, MemberResponse

_BATCHED_FROM_VERSION = 3


async def handle(request: LeaveGroupRequest, context: Context, services: Services) -> LeaveGroupResponse:
    if not context.access.allows_on_group(Operation.READ, request.group_id):
        return LeaveGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if not request.group_id:
        return LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    batched = context.version >= _BATCHED_FROM_VERSION
    leavers = (
        tuple(LeavingMember(one.member_id, one.group_instance_id) for one in request.members)
        if batched
        else (LeavingMember(request.member_id),)
    )
    try:
        results = await services.groups.leave(request.group_id, Leave(leavers))
    except EXPECTED as error:
        return LeaveGroupResponse(error_code=code_of(error))
    if not batched:
        return LeaveGroupResponse(error_code=code_for(results[0]))
    return LeaveGroupResponse(
        members=[
            MemberResponse(
                member_id=leaver.member_id,
                group_instance_id=leaver.instance_id,
                error_code=code_for(result),
            )
            for leaver, result in zip(leavers, results, strict=True)
        ]
    )


API: Final = Served(LEAVE_GROUP, versions=(0, 5), handle=handle)
