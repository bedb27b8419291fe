"""ConsumerGroupHeartbeat (key 68), versions 0 to 1: consumer protocol (KIP-848).

Version notes:
- 1: subscription by regular expression; members choose their own ids (KIP-1082).

Differences from Kafka:
- Any broker accepts any member; the members of a group may be connected to different brokers.
"""

from typing import Final

from dray.acls import Operation
from dray.api.errors import EXPECTED, code_of, message_of
from dray.api.exchange import Context
from dray.api.group_requests import client_host, code_for, random_id
from dray.api.served import Served
from dray.api.services import Services
from dray.groups.commands import ConsumerHeartbeat, Partitions
from dray.wire import ErrorCode
from dray.wire.apis.consumer_group_heartbeat import (
    CONSUMER_GROUP_HEARTBEAT,
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

_MEMBERS_NAME_THEMSELVES_FROM_VERSION = 1
_AS_BEFORE = -1


async def handle(
    request: ConsumerGroupHeartbeatRequest, context: Context, services: Services
) -> ConsumerGroupHeartbeatResponse:
    access = context.access
    if not access.allows_on_group(Operation.READ, request.group_id):
        return _denied(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if not all(
        access.allows_on_topic(Operation.DESCRIBE, name) for name in request.subscribed_topic_names or ()
    ):
        return _denied(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if not request.group_id.strip():
        return ConsumerGroupHeartbeatResponse(
            error_code=ErrorCode.INVALID_REQUEST, error_message="GroupId can't be empty."
        )
    try:
        result = await services.groups.consumer_heartbeat(
            request.group_id,
            _command(request, context, services),
            access.may_describe_topic,
        )
    except EXPECTED as error:
        return ConsumerGroupHeartbeatResponse(error_code=code_of(error), error_message=message_of(error))
    return ConsumerGroupHeartbeatResponse(
        error_code=code_for(result.error),
        error_message=result.message,
        member_id=result.member_id,
        member_epoch=result.epoch,
        heartbeat_interval_ms=result.interval_ms,
        assignment=_assignment(result.assignment),
    )


def _denied(code: ErrorCode) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=code)


def _command(
    request: ConsumerGroupHeartbeatRequest, context: Context, services: Services
) -> ConsumerHeartbeat:
    timeout_ms, names = request.rebalance_timeout_ms, request.subscribed_topic_names
    gives_ids = context.version < _MEMBERS_NAME_THEMSELVES_FROM_VERSION
    return ConsumerHeartbeat(
        group_id=request.group_id,
        member_id=request.member_id,
        epoch=request.member_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=None if timeout_ms == _AS_BEFORE else timeout_ms,
        names=None if names is None else tuple(names),
        regex=request.subscribed_topic_regex,
        assignor=request.server_assignor,
        owned=_owned(request.topic_partitions),
        client_id=context.client_id,
        client_host=client_host(context),
        broker=services.me.broker_id,
        new_member_id=random_id(services) if gives_ids and not request.member_id else "",
    )


def _owned(given: list[TopicPartitions] | None) -> Partitions | None:
    if given is None:
        return None
    owned: dict[bytes, set[int]] = {}
    for one in given:
        if one.partitions:
            owned.setdefault(one.topic_id, set()).update(one.partitions)
    return {topic_id: tuple(sorted(partitions)) for topic_id, partitions in owned.items()}


def _assignment(assigned: Partitions | None) -> Assignment | None:
    if assigned is None:
        return None
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic, partitions=list(parts)) for topic, parts in assigned.items()
        ]
    )


API: Final = Served(CONSUMER_GROUP_HEARTBEAT, versions=(0, 1), handle=handle)
