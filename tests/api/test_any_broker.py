"""Requests for any partition at any broker, also where Kafka would refuse or know only its own."""

import pytest

from dray.objects.port import Unavailable
from dray.wire import ErrorCode as E
from dray.wire.apis.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from dray.wire.apis.produce import PartitionProduceResponse, ProduceResponse
from tests.api.builders import TTL_MS, Broker, Cluster, on_broker, on_cluster
from tests.oracle.batches import batch
from tests.oracle.requests import Named, produce

PARTITIONS = 8
PRODUCER = 41


async def produced(
    broker: Broker, topic: Named, records: bytes, partition: int = 0
) -> PartitionProduceResponse:
    response = await broker.ask(ProduceResponse, produce(topic, records, partition=partition))
    return response.responses[0].partition_responses[0]


async def two_brokers(cluster: Cluster) -> tuple[Broker, Broker, Named]:
    one, two = await cluster.broker(1), await cluster.broker(2)
    made = await one.make_topic("t", PARTITIONS)
    await cluster.settle()
    return one, two, Named(made.name, made.topic_id)


@on_cluster
async def test_broker_accepts_batches_for_partitions_it_does_not_lead(cluster: Cluster) -> None:
    """NOT_LEADER_OR_FOLLOWER is never returned."""
    one, two, topic = await two_brokers(cluster)
    response = await one.ask(
        MetadataResponse, MetadataRequest(topics=[MetadataRequestTopic(name=topic.name)]), 12
    )
    assert {part.leader_id for part in response.topics[0].partitions} == {1, 2}
    for partition in range(PARTITIONS):
        offsets = [
            (await produced(broker, topic, batch(), partition)).base_offset for broker in (one, two, one)
        ]
        assert offsets == [0, 1, 2]


@on_cluster
async def test_batch_stored_by_one_broker_is_a_duplicate_to_another(cluster: Cluster) -> None:
    one, two, topic = await two_brokers(cluster)

    async def send(broker: Broker, epoch: int, sequence: int) -> tuple[E, int]:
        answer = await produced(broker, topic, batch(producer=(PRODUCER, epoch, sequence)))
        return E(answer.error_code), answer.base_offset

    assert await send(one, 0, 0) == (E.NONE, 0)
    assert await send(two, 0, 0) == (E.NONE, 0)
    assert await send(two, 0, 2) == (E.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert await send(two, 0, 1) == (E.NONE, 1)
    assert await send(one, 0, 1) == (E.NONE, 1)
    assert await send(two, 1, 0) == (E.NONE, 2), "an epoch more, from nowhere"
    assert await send(one, 0, 2) == (E.INVALID_PRODUCER_EPOCH, -1)
    assert await send(one, 1, 0) == (E.NONE, 2)


@on_cluster
async def test_only_live_brokers_are_reported_also_as_controller(cluster: Cluster) -> None:
    one, two, topic = await two_brokers(cluster)
    await one.stop()
    await cluster.clock.sleep(2 * TTL_MS / 1000)
    response = await two.ask(
        MetadataResponse, MetadataRequest(topics=[MetadataRequestTopic(name=topic.name)]), 12
    )
    assert [node.node_id for node in response.brokers] == [2]
    assert response.controller_id == 2
    assert {part.leader_id for part in response.topics[0].partitions} == {2}


@on_broker
async def test_produce_to_a_stopping_broker_returns_not_leader_or_follower(broker: Broker) -> None:
    made = await broker.make_topic()
    await broker.services.log.close()
    answer = await produced(broker, Named(made.name, made.topic_id), batch())
    assert (E(answer.error_code), answer.base_offset) == (E.NOT_LEADER_OR_FOLLOWER, -1)


@on_broker
async def test_batch_that_the_object_store_refused_can_be_retried(broker: Broker) -> None:
    """The error is retriable, and the retried batch is stored once."""
    made = await broker.make_topic()
    topic, records = Named(made.name, made.topic_id), batch(producer=(PRODUCER, 0, 0))
    store = broker.services.log._deps.objects

    async def refuse(*_: object) -> None:
        raise Unavailable("out of reach")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "put_new", refuse)
        answer = await produced(broker, topic, records)
        assert (E(answer.error_code), answer.base_offset) == (E.KAFKA_STORAGE_ERROR, -1)
    answer = await produced(broker, topic, records)
    assert (E(answer.error_code), answer.base_offset) == (E.NONE, 0)


@on_cluster
async def test_topic_is_known_to_every_broker_as_soon_as_it_is_created(cluster: Cluster) -> None:
    """Also to one whose watch is late; without the store, a missing topic is missing."""
    one, two = await cluster.broker(1), await cluster.broker(2)

    async def unknown(name: str) -> list[int]:
        topics = [MetadataRequestTopic(name=name)]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        answer = await two.ask(MetadataResponse, request, 12)
        return [topic.error_code for topic in answer.topics]

    made = await one.make_topic("t")
    assert two.services.topics.find("t") is None, "it has not heard of it yet"
    assert await unknown("t") == [E.NONE]
    assert (await produced(two, Named(made.name, made.topic_id), batch())).error_code == E.NONE
    assert await unknown("u") == [E.UNKNOWN_TOPIC_OR_PARTITION]
    two.link.unavailable = True
    assert await unknown("u") == [E.UNKNOWN_TOPIC_OR_PARTITION]
    assert await unknown("t") == [E.NONE]
