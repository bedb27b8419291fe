"""Heartbeat (key 12). Versions 0 to 4."""

from dray.api.errors import EXPECTED, code_of
from dray.api.exchange import Context
from dray.api.group_asks import code_for
from dray.api.services import Services
from dray.groups.asks import Beat
from dray.wire import ErrorCode
from dray.wire.apis.heartbeat import HeartbeatRequest, HeartbeatResponse


async def handle(request: HeartbeatRequest, _: Context, services: Services) -> HeartbeatResponse:
    if not request.group_id:
        return HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    ask = Beat(request.member_id, request.group_instance_id, request.generation_id, services.me.broker_id)
    try:
        fault = await services.groups.beat(request.group_id, ask)
    except EXPECTED as error:
        return HeartbeatResponse(error_code=code_of(error))
    return HeartbeatResponse(error_code=code_for(fault))
