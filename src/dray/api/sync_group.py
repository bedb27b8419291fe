"""SyncGroup (key 14), versions 0 to 5: classic protocol.

Version notes:
- 3: group instance id (KIP-345).
- 4: flexible.
- 5: protocol type and name, which must match the group's (KIP-559).
"""

from typing import Final

from dray.acls import Operation
from dray.api.errors import EXPECTED, code_of
from dray.api.exchange import Context
from dray.api.group_requests import code_for, wait_for_members
from dray.api.served import Served
from dray.api.services import Services
from dray.groups.commands import Sync
from dray.wire import ErrorCode
from dray.wire.apis.sync_group import SYNC_GROUP, SyncGroupRequest, SyncGroupResponse

_PROTOCOL_FROM_VERSION = 5


async def handle(request: SyncGroupRequest, context: Context, services: Services) -> SyncGroupResponse:
    require_protocol = context.version >= _PROTOCOL_FROM_VERSION
    if require_protocol and (request.protocol_type is None or request.protocol_name is None):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not context.access.allows_on_group(Operation.READ, request.group_id):
        return SyncGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if not request.group_id:
        return SyncGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    command = Sync(
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id,
        protocol_type=request.protocol_type,
        protocol=request.protocol_name,
        assignments=tuple((one.member_id, bytes(one.assignment)) for one in request.assignments),
        broker=services.me.broker_id,
        require_protocol=require_protocol,
    )
    try:
        synced = await wait_for_members(services.groups.sync(request.group_id, command), context, services)
    except EXPECTED as error:
        return SyncGroupResponse(error_code=code_of(error))
    return SyncGroupResponse(
        error_code=code_for(synced.error),
        protocol_type=synced.protocol_type,
        protocol_name=synced.protocol,
        assignment=synced.assignment,
    )


API: Final = Served(SYNC_GROUP, versions=(0, 5), handle=handle)
