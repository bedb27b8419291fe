"""ConsumerGroupHeartbeat (key 68). Versions 0 to 1.

Deviations: any broker takes any member; those of one group may be at different brokers.
"""

from dray.api.errors import EXPECTED, code_of, message_of
from dray.api.exchange import Context
from dray.api.group_asks import client_host, code_for, new_id
from dray.api.services import Services
from dray.groups.asks import ConsumerBeat, Partitions
from dray.wire import ErrorCode
from dray.wire.apis.consumer_group_heartbeat import (
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
    if not request.group_id.strip():
        return ConsumerGroupHeartbeatResponse(
            error_code=ErrorCode.INVALID_REQUEST, error_message="GroupId can't be empty."
        )
    try:
        beaten = await services.groups.consumer_beat(request.group_id, _ask(request, context, services))
    except EXPECTED as error:
        return ConsumerGroupHeartbeatResponse(error_code=code_of(error), error_message=message_of(error))
    return ConsumerGroupHeartbeatResponse(
        error_code=code_for(beaten.fault),
        error_message=beaten.message,
        member_id=beaten.member_id,
        member_epoch=beaten.epoch,
        heartbeat_interval_ms=beaten.interval_ms,
        assignment=_told(beaten.assignment),
    )


def _ask(request: ConsumerGroupHeartbeatRequest, context: Context, services: Services) -> ConsumerBeat:
    timeout_ms, names = request.rebalance_timeout_ms, request.subscribed_topic_names
    gives_ids = context.version < _MEMBERS_NAME_THEMSELVES_FROM_VERSION
    return ConsumerBeat(
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
        new_id=new_id(services) if gives_ids and not request.member_id else "",
    )


def _owned(given: list[TopicPartitions] | None) -> Partitions | None:
    if given is None:
        return None
    owned: dict[bytes, set[int]] = {}
    for one in given:
        if one.partitions:
            owned.setdefault(one.topic_id, set()).update(one.partitions)
    return {topic_id: tuple(sorted(partitions)) for topic_id, partitions in owned.items()}


def _told(assigned: Partitions | None) -> Assignment | None:
    if assigned is None:
        return None
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic, partitions=list(parts)) for topic, parts in assigned.items()
        ]
    )
