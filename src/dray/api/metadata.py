"""Metadata (key 3), versions 0 to 13.

Version notes:
- 1: racks, controller id, internal topics.
- 2: cluster id (KIP-78).
- 4: `allow_auto_topic_creation`.
- 5: offline replicas (KIP-112).
- 7: leader epochs (KIP-320).
- 8: authorized operations (KIP-430).
- 9: flexible.
- 10: topic ids in the response (KIP-516).
- 11: no authorized operations of the cluster (KIP-700).
- 12: lookup by topic id.
- 13: top-level error code (KIP-1102).

Differences from Kafka:
- Partitions have no leaders. A broker of the client's zone is reported as leader, the same one to all clients
  of the zone; any other serves as well, unless it enforces ownership (`routing.enforce_owner`) or shuts down.
- The reported leader is the only replica and the only in-sync replica.
- Clients see the brokers of their zone, and the broker that answers even if it is of another zone.
- Brokers without the listener of the client are left out, and lead no partition for it. (In Kafka a partition
  whose leader lacks the listener has none: LISTENER_NOT_FOUND.)
- A broker that shuts down names the others only.
- The first response already contains an auto-created topic.
- A topic with neither name nor id gets INVALID_TOPIC_EXCEPTION (Kafka returns UNKNOWN_SERVER_ERROR).

docs/decisions/0013 explains the routing by zones.
"""

import asyncio
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from dray.acls import Operation, ResourceType
from dray.api.authorization import NOT_REQUESTED, Access
from dray.api.errors import EXPECTED, code_of
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.cluster.brokers import BrokerInfo
from dray.cluster.topic_admin import TopicExists
from dray.cluster.topic_names import is_internal, is_valid_name
from dray.cluster.topics import Topic
from dray.cluster.zones import Origin, address_for
from dray.log import LEADER_EPOCH
from dray.meta.port import MetaError
from dray.wire import ErrorCode
from dray.wire.apis.metadata import (
    METADATA,
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from dray.wire.kinds import ZERO_UUID

_LOOKUP_BY_ID_FROM = 12
_FRESH_SECONDS = 1.0
"""Limit of the read from the store for a topic that is not in this broker's cache."""


async def handle(request: MetadataRequest, context: Context, services: Services) -> MetadataResponse:
    if context.version < _LOOKUP_BY_ID_FROM and _uses_ids(request):
        return _refused(request)
    topics = await _topics(request, context, services)
    access = context.access
    if request.include_topic_authorized_operations:
        topics = [_with_operations(topic, access) for topic in topics]
    on_cluster = NOT_REQUESTED
    if request.include_cluster_authorized_operations:
        on_cluster = access.operations_on_cluster()
    return MetadataResponse(
        brokers=[_broker(broker, context.origin) for broker in services.routing.listed(context.origin)],
        cluster_id=services.cluster_id,
        controller_id=services.routing.visible(context.origin)[0].broker_id,
        topics=topics,
        cluster_authorized_operations=on_cluster,
    )


def _broker(broker: BrokerInfo, origin: Origin) -> MetadataResponseBroker:
    address = address_for(broker, origin)
    return MetadataResponseBroker(
        node_id=broker.broker_id, host=address.host, port=address.port, rack=broker.zone
    )


def _uses_ids(request: MetadataRequest) -> bool:
    return any(
        requested.topic_id != ZERO_UUID or requested.name is None for requested in request.topics or ()
    )


def _refused(request: MetadataRequest) -> MetadataResponse:
    """Return INVALID_REQUEST for every topic, and nothing about the cluster."""
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(
                error_code=ErrorCode.INVALID_REQUEST, name=requested.name or "", topic_id=requested.topic_id
            )
            for requested in request.topics or ()
        ]
    )


async def _topics(
    request: MetadataRequest, context: Context, services: Services
) -> list[MetadataResponseTopic]:
    requested = request.topics
    if requested is None or (context.version == 0 and not requested):
        return [
            _topic(topic, context.origin, services)
            for topic in services.topics.all()
            if context.access.allows_on_topic(Operation.DESCRIBE, topic.name, audited=False)
        ]
    by_id = {one.topic_id: None for one in requested if one.topic_id != ZERO_UUID}
    if by_id:  # if there are ids, names are ignored
        return [_by_id(topic_id, context, services) for topic_id in by_id]
    by_name = {one.name or "": None for one in requested}
    return [await _by_name(name, request, context, services) for name in by_name]


async def _by_name(
    name: str, request: MetadataRequest, context: Context, services: Services
) -> MetadataResponseTopic:
    if not context.access.allows_on_topic(Operation.DESCRIBE, name):
        return _missing(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)
    topic = services.topics.find(name)
    if topic is None and not is_valid_name(name):
        return _missing(ErrorCode.INVALID_TOPIC_EXCEPTION, name)
    if topic is None and request.allow_auto_topic_creation and services.settings.auto_create_topics_enable:
        if not _may_create(name, context.access):
            return _missing(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)
        try:
            topic = await _create(name, context, services)
        except EXPECTED as error:
            services.audit.change_failed(context.access.caller, _subject(name), code_of(error).name)
            return _missing(code_of(error), name)
    if topic is None:
        topic = await _just_created(name, services)
    if topic is None:
        return _missing(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
    return _topic(topic, context.origin, services)


async def _just_created(name: str, services: Services) -> Topic | None:
    """Return a topic that another broker has just created; None if the store does not answer soon."""
    with suppress(MetaError, TimeoutError):
        async with asyncio.timeout(_FRESH_SECONDS):
            return await services.topics.fresh(name)
    return None


def _missing(code: ErrorCode, name: str) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=code, name=name, is_internal=is_internal(name))


def _by_id(topic_id: bytes, context: Context, services: Services) -> MetadataResponseTopic:
    topic = services.topics.find_id(topic_id)
    if topic is None:
        return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
    if not context.access.allows_on_topic(Operation.DESCRIBE, topic.name):
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return MetadataResponseTopic(error_code=code, name=None, topic_id=topic_id)
    return _topic(topic, context.origin, services)


def _may_create(name: str, access: Access) -> bool:
    if access.allows_on_cluster(Operation.CREATE, audited=False):
        return True
    return access.allows_on_topic(Operation.CREATE, name)


def _with_operations(topic: MetadataResponseTopic, access: Access) -> MetadataResponseTopic:
    if topic.name is None or topic.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return topic
    return replace(topic, topic_authorized_operations=access.operations(ResourceType.TOPIC, topic.name))


async def _create(name: str, context: Context, services: Services) -> Topic | None:
    """Create a topic; returns None if the client's quota does not allow it now, or if it exists elsewhere."""
    caller, quota = context.access.caller, context.quota
    if quota is not None and quota.take_mutations(services.settings.num_partitions, strict=True):
        # As in Kafka, the client is not throttled: it asks again until there is a topic.
        code = ErrorCode.THROTTLING_QUOTA_EXCEEDED
        services.audit.change_failed(caller, _subject(name), code.name)
        return None
    try:
        created = await services.topic_admin.create(name, services.settings.num_partitions, {})
    except TopicExists:
        return services.topics.find(name)  # another client created it at the same time
    services.audit.changed(caller, [_subject(name)], [])
    return created


def _subject(name: str) -> str:
    """Return how the audit log names a topic."""
    return f"{ResourceType.TOPIC.name}:{name}"


def _topic(topic: Topic, origin: Origin, services: Services) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=is_internal(topic.name),
        partitions=[
            _partition(number, services.routing.leader(stream, origin).broker_id)
            for number, stream in enumerate(topic.streams)
        ],
    )


def _partition(number: int, leader: int) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        partition_index=number,
        leader_id=leader,
        leader_epoch=LEADER_EPOCH,
        replica_nodes=[leader],
        isr_nodes=[leader],
    )


API: Final = Served(METADATA, versions=(0, 13), handle=handle)
