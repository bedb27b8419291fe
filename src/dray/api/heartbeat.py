"""Heartbeat (key 12), versions 0 to 4: classic protocol.

Version notes:
- 3: group instance id (KIP-345).
- 4: flexible.
"""

from typing import Final

from dray.acls import Operation
from dray.api.errors import EXPECTED, code_of
from dray.api.exchange import Context
from dray.api.group_requests import code_for
from dray.api.served import Served
from dray.api.services import Services
from dray.groups.commands import Heartbeat
from dray.wire import ErrorCode
from dray.wire.apis.heartbeat import HEARTBEAT, HeartbeatRequest, HeartbeatResponse


async def handle(request: HeartbeatRequest, context: Context, services: Services) -> HeartbeatResponse:
    if not context.access.allows_on_group(Operation.READ, request.group_id):
        return HeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if not request.group_id:
        return HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    command = Heartbeat(
        request.member_id, request.group_instance_id, request.generation_id, services.me.broker_id
    )
    try:
        result = await services.groups.heartbeat(request.group_id, command)
    except EXPECTED as error:
        return HeartbeatResponse(error_code=code_of(error))
    return HeartbeatResponse(error_code=code_for(result))


API: Final = Served(HEARTBEAT, versions=(0, 4), handle=handle)
