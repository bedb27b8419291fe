"""SyncGroup (key 14). Versions 0 to 5."""

from dray.api.errors import EXPECTED, code_of
from dray.api.exchange import Context
from dray.api.group_asks import code_for, with_the_others
from dray.api.services import Services
from dray.groups.asks import Sync
from dray.wire import ErrorCode
from dray.wire.apis.sync_group import SyncGroupRequest, SyncGroupResponse

_PROTOCOL_FROM_VERSION = 5


async def handle(request: SyncGroupRequest, context: Context, services: Services) -> SyncGroupResponse:
    names_protocol = context.version >= _PROTOCOL_FROM_VERSION
    if names_protocol and (request.protocol_type is None or request.protocol_name is None):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not request.group_id:
        return SyncGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    ask = Sync(
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id,
        protocol_type=request.protocol_type,
        protocol=request.protocol_name,
        assignments=tuple((one.member_id, bytes(one.assignment)) for one in request.assignments),
        broker=services.me.broker_id,
        names_protocol=names_protocol,
    )
    try:
        synced = await with_the_others(services.groups.sync(request.group_id, ask), context, services)
    except EXPECTED as error:
        return SyncGroupResponse(error_code=code_of(error))
    return SyncGroupResponse(
        error_code=code_for(synced.fault),
        protocol_type=synced.protocol_type,
        protocol_name=synced.protocol,
        assignment=synced.assignment,
    )
