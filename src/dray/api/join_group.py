"""JoinGroup (key 11), versions 0 to 9: classic protocol.

Version notes:
- 1: rebalance timeout (KIP-62).
- 4: a new member needs its id before it may join (KIP-394).
- 5: group instance id (KIP-345).
- 6: flexible.
- 7: protocol type in the response (KIP-559).
- 8: reason (KIP-800).
- 9: the leader may skip the assignment (KIP-814).

Differences from Kafka:
- Any broker accepts any member; the members of a group may be connected to different brokers.
"""

from typing import Final

from dray.acls import Operation
from dray.api.errors import EXPECTED, code_of
from dray.api.exchange import Context
from dray.api.group_requests import client_host, code_for, random_id, wait_for_members
from dray.api.served import Served
from dray.api.services import Services
from dray.groups.commands import Join
from dray.groups.results import JoinResult
from dray.wire import ErrorCode
from dray.wire.apis.join_group import JOIN_GROUP, JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember

_REBALANCE_TIMEOUT_FROM_VERSION = 1
_KNOWN_IDS_FROM_VERSION = 4
_NULLABLE_PROTOCOL_FROM_VERSION = 7
_SKIPS_ASSIGNMENT_FROM_VERSION = 9


async def handle(request: JoinGroupRequest, context: Context, services: Services) -> JoinGroupResponse:
    if not context.access.allows_on_group(Operation.READ, request.group_id):
        return _refused(ErrorCode.GROUP_AUTHORIZATION_FAILED, "", context)
    if not request.group_id:
        return _refused(ErrorCode.INVALID_GROUP_ID, request.member_id, context)
    try:
        command, may_describe = _command(request, context, services), context.access.may_describe_topic
        joining = services.groups.join(request.group_id, command, may_describe)
        joined = await wait_for_members(joining, context, services)
    except EXPECTED as error:
        return _refused(code_of(error), request.member_id, context)
    return _answer(joined, context)


def _command(request: JoinGroupRequest, context: Context, services: Services) -> Join:
    timeout_ms = request.rebalance_timeout_ms
    if context.version < _REBALANCE_TIMEOUT_FROM_VERSION:
        timeout_ms = request.session_timeout_ms
    instance_id = request.group_instance_id
    return Join(
        member_id=request.member_id,
        instance_id=instance_id,
        client_id=context.client_id,
        client_host=client_host(context),
        protocol_type=request.protocol_type,
        protocols=tuple((one.name, bytes(one.metadata)) for one in request.protocols),
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=timeout_ms,
        broker=services.me.broker_id,
        new_member_id=f"{context.client_id if instance_id is None else instance_id}-{random_id(services)}",
        require_known_member_id=context.version >= _KNOWN_IDS_FROM_VERSION,
        supports_skipping_assignment=context.version >= _SKIPS_ASSIGNMENT_FROM_VERSION,
    )


def _answer(joined: JoinResult, context: Context) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=code_for(joined.error),
        generation_id=joined.generation,
        protocol_type=joined.protocol_type,
        protocol_name=_protocol(joined.protocol, context),
        leader=joined.leader,
        skip_assignment=joined.skip_assignment,
        member_id=joined.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=member.member_id, group_instance_id=member.instance_id, metadata=member.metadata
            )
            for member in joined.members
        ],
    )


def _refused(code: ErrorCode, member_id: str, context: Context) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=code, member_id=member_id, protocol_name=_protocol(None, context))


def _protocol(name: str | None, context: Context) -> str | None:
    return "" if name is None and context.version < _NULLABLE_PROTOCOL_FROM_VERSION else name


API: Final = Served(JOIN_GROUP, versions=(0, 9), handle=handle)
