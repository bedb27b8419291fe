"""Any broker takes any batch: what Kafka refuses as not its own, and what only one broker would know."""

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


async def told(broker: Broker, topic: Named, records: bytes, partition: int = 0) -> PartitionProduceResponse:
    came = await broker.ask(ProduceResponse, produce(topic, records, partition=partition))
    return came.responses[0].partition_responses[0]


async def two_brokers(cluster: Cluster) -> tuple[Broker, Broker, Named]:
    one, two = await cluster.broker(1), await cluster.broker(2)
    made = await one.make_topic("t", PARTITIONS)
    await cluster.settle()
    return one, two, Named(made.name, made.topic_id)


@on_cluster
async def test_a_broker_takes_batches_for_partitions_it_does_not_lead(cluster: Cluster) -> None:
    """Never NOT_LEADER_OR_FOLLOWER."""
    one, two, topic = await two_brokers(cluster)
    came = await one.ask(
        MetadataResponse, MetadataRequest(topics=[MetadataRequestTopic(name=topic.name)]), 12
    )
    assert {part.leader_id for part in came.topics[0].partitions} == {1, 2}
    for partition in range(PARTITIONS):
        offsets = [(await told(broker, topic, batch(), partition)).base_offset for broker in (one, two, one)]
        assert offsets == [0, 1, 2]


@on_cluster
async def test_what_one_broker_took_is_a_duplicate_to_the_other(cluster: Cluster) -> None:
    one, two, topic = await two_brokers(cluster)

    async def send(broker: Broker, epoch: int, sequence: int) -> tuple[E, int]:
        answer = await told(broker, topic, batch(producer=(PRODUCER, epoch, sequence)))
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
async def test_brokers_and_controller_are_alive(cluster: Cluster) -> None:
    one, two, topic = await two_brokers(cluster)
    await one.stop()
    await cluster.clock.sleep(2 * TTL_MS / 1000)
    came = await two.ask(
        MetadataResponse, MetadataRequest(topics=[MetadataRequestTopic(name=topic.name)]), 12
    )
    assert [node.node_id for node in came.brokers] == [2]
    assert came.controller_id == 2
    assert {part.leader_id for part in came.topics[0].partitions} == {2}


@on_broker
async def test_a_broker_that_stops_sends_its_producers_elsewhere(broker: Broker) -> None:
    made = await broker.make_topic()
    await broker.services.log.close()
    answer = await told(broker, Named(made.name, made.topic_id), batch())
    assert (E(answer.error_code), answer.base_offset) == (E.NOT_LEADER_OR_FOLLOWER, -1)


@on_broker
async def test_what_the_object_store_does_not_take_may_be_sent_again(broker: Broker) -> None:
    """With a code that clients retry; the same batch is then taken, once."""
    made = await broker.make_topic()
    topic, records = Named(made.name, made.topic_id), batch(producer=(PRODUCER, 0, 0))
    store = broker.services.log._parts.objects

    async def refuse(*_: object) -> None:
        raise Unavailable("out of reach")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "put_new", refuse)
        answer = await told(broker, topic, records)
        assert (E(answer.error_code), answer.base_offset) == (E.KAFKA_STORAGE_ERROR, -1)
    answer = await told(broker, topic, records)
    assert (E(answer.error_code), answer.base_offset) == (E.NONE, 0)
