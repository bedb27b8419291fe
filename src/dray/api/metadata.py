"""Metadata (key 3). Versions 0 to 13.

Deviations: streams have no leaders. The broker called the leader of a partition is one of the client's zone,
chosen so that all clients of the zone agree on it; any broker would serve as well. Replicas and in-sync
replicas are that one broker. A topic that is made by asking for it is in the first answer already.
"""

from collections.abc import Sequence

from dray.api.errors import EXPECTED, code_of
from dray.api.exchange import Context
from dray.api.services import Services
from dray.api.topic_names import is_valid_name
from dray.cluster.brokers import BrokerInfo
from dray.cluster.topics import Topic, TopicExists
from dray.log import LEADER_EPOCH
from dray.wire import ErrorCode
from dray.wire.apis.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from dray.wire.kinds import ZERO_UUID

_LOOKUP_BY_ID_FROM = 12
_INVALID_NAME = "topic names have 1 to 249 letters, digits, '.', '_' or '-'"


async def handle(request: MetadataRequest, context: Context, services: Services) -> MetadataResponse:
    brokers = services.brokers_for(context)
    everything = request.topics is None or (context.version == 0 and not request.topics)
    if everything:
        topics = [_topic(topic, brokers, services) for topic in services.topics.all()]
    else:
        topics = [await _asked(asked, request, context, brokers, services) for asked in request.topics or ()]
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=broker.broker_id, host=broker.host, port=broker.port, rack=broker.zone
            )
            for broker in brokers
        ],
        cluster_id=services.cluster_id,
        controller_id=brokers[0].broker_id,
        topics=topics,
    )


async def _asked(
    asked: MetadataRequestTopic,
    request: MetadataRequest,
    context: Context,
    brokers: Sequence[BrokerInfo],
    services: Services,
) -> MetadataResponseTopic:
    if asked.topic_id != ZERO_UUID:
        return _by_id(asked, context, brokers, services)
    name = asked.name or ""
    topic = services.topics.find(name)
    if topic is None and not is_valid_name(name):
        return MetadataResponseTopic(error_code=ErrorCode.INVALID_TOPIC_EXCEPTION, name=name)
    if topic is None and request.allow_auto_topic_creation and services.settings.auto_create_topics:
        try:
            topic = await _create(name, services)
        except EXPECTED as error:
            return MetadataResponseTopic(error_code=code_of(error), name=name)
    if topic is None:
        return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name=name)
    return _topic(topic, brokers, services)


def _by_id(
    asked: MetadataRequestTopic, context: Context, brokers: Sequence[BrokerInfo], services: Services
) -> MetadataResponseTopic:
    if context.version < _LOOKUP_BY_ID_FROM:
        return MetadataResponseTopic(
            error_code=ErrorCode.INVALID_REQUEST, name=asked.name or "", topic_id=asked.topic_id
        )
    topic = services.topics.find_id(asked.topic_id)
    if topic is None:
        return MetadataResponseTopic(
            error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=asked.topic_id
        )
    return _topic(topic, brokers, services)


async def _create(name: str, services: Services) -> Topic | None:
    try:
        return await services.topics.create(name, services.settings.num_partitions, {})
    except TopicExists:
        return services.topics.find(name)  # somebody else made it at the same time


def _topic(topic: Topic, brokers: Sequence[BrokerInfo], services: Services) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            _partition(number, services.leader_of(stream, list(brokers)).broker_id)
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
