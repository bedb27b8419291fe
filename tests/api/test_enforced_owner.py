"""Enforced ownership (spec 7.4): only the leader that Metadata names to a client serves its records."""

from dray.cluster.settings import RoutingSettings
from dray.wire import ErrorCode as E
from dray.wire.apis.fetch import FetchResponse, PartitionData
from dray.wire.apis.fetch import NodeEndpoint as FetchEndpoint
from dray.wire.apis.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from dray.wire.apis.produce import NodeEndpoint, PartitionProduceResponse, ProduceResponse
from tests.api.builders import Broker, Cluster, on_cluster
from tests.oracle.batches import batch
from tests.oracle.requests import Named, fetch, part, produce

PARTITIONS = 6
STRICT = RoutingSettings(enforce_owner=True)
PRODUCE_VERSIONS, FETCH_VERSIONS = range(3, 14), range(4, 18)


async def leaders(broker: Broker, topic: Named, client_id: str = "test") -> list[int]:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic.name)])
    answer = await broker.ask(MetadataResponse, request, 12, client_id=client_id)
    return [one.leader_id for one in answer.topics[0].partitions]


async def produced(
    broker: Broker, topic: Named, partition: int, version: int = 13, client_id: str = "test"
) -> tuple[PartitionProduceResponse, list[NodeEndpoint]]:
    request = produce(topic, batch(), partition=partition)
    answer = await broker.ask(ProduceResponse, request, version, client_id=client_id)
    return answer.responses[0].partition_responses[0], answer.node_endpoints


async def fetched(
    broker: Broker, topic: Named, partition: int, version: int = 17, client_id: str = "test"
) -> tuple[PartitionData, list[FetchEndpoint]]:
    request = fetch(topic, part(partition=partition), max_wait_ms=60_000)
    answer = await broker.ask(FetchResponse, request, version, client_id=client_id)
    return answer.responses[0].partitions[0], answer.node_endpoints


async def strict_brokers(cluster: Cluster, *zones: str | None) -> tuple[list[Broker], Named]:
    brokers = [await cluster.broker(number, zone, routing=STRICT) for number, zone in enumerate(zones, 1)]
    made = await brokers[0].make_topic("t", PARTITIONS)
    await cluster.settle()
    return brokers, Named(made.name, made.topic_id)


@on_cluster
async def test_only_the_named_leader_takes_and_returns_records(cluster: Cluster) -> None:
    brokers, topic = await strict_brokers(cluster, None, None, None)
    named = await leaders(brokers[0], topic)
    assert len(set(named)) > 1
    for partition, leader in enumerate(named):
        for number, broker in enumerate(brokers, 1):
            expected = E.NONE if number == leader else E.NOT_LEADER_OR_FOLLOWER
            stored, _ = await produced(broker, topic, partition)
            assert (E(stored.error_code), stored.base_offset == 0) == (expected, number == leader)
        for number, broker in enumerate(brokers, 1):
            expected = E.NONE if number == leader else E.NOT_LEADER_OR_FOLLOWER
            found, _ = await fetched(broker, topic, partition)
            assert (E(found.error_code), bool(found.records)) == (expected, number == leader)


@on_cluster
async def test_refusal_names_the_leader_in_the_versions_that_can(cluster: Cluster) -> None:
    brokers, topic = await strict_brokers(cluster, None, None)
    leader = (await leaders(brokers[0], topic))[0]
    wrong = brokers[2 - leader]
    node = NodeEndpoint(node_id=leader, host=f"host{leader}", port=9092 + leader)
    endpoint = FetchEndpoint(node_id=leader, host=f"host{leader}", port=9092 + leader)
    for version in PRODUCE_VERSIONS:
        stored, nodes = await produced(wrong, topic, 0, version)
        assert stored.error_code == E.NOT_LEADER_OR_FOLLOWER
        assert stored.current_leader.leader_id == (leader if version >= 10 else -1)
        assert nodes == ([node] if version >= 10 else [])
    for version in FETCH_VERSIONS:
        found, endpoints = await fetched(wrong, topic, 0, version)
        assert found.error_code == E.NOT_LEADER_OR_FOLLOWER
        assert found.current_leader.leader_id == (leader if version >= 12 else -1)
        assert endpoints == ([endpoint] if version >= 16 else [])


@on_cluster
async def test_each_zone_has_its_own_leaders(cluster: Cluster) -> None:
    brokers, topic = await strict_brokers(cluster, "a", "b", "b")
    for client_id in ("zone_id=a", "zone_id=b", "zone_id=elsewhere", ""):
        for partition, leader in enumerate(await leaders(brokers[0], topic, client_id)):
            for number, broker in enumerate(brokers, 1):
                expected = E.NONE if number == leader else E.NOT_LEADER_OR_FOLLOWER
                stored, _ = await produced(broker, topic, partition, client_id=client_id)
                assert E(stored.error_code) == expected


@on_cluster
async def test_leadership_moves_when_the_leader_stops(cluster: Cluster) -> None:
    brokers, topic = await strict_brokers(cluster, None, None)
    partition = (await leaders(brokers[0], topic)).index(2)
    assert (await produced(brokers[0], topic, partition))[0].error_code == E.NOT_LEADER_OR_FOLLOWER
    await brokers[1].stop()
    await cluster.settle()
    assert await leaders(brokers[0], topic) == [1] * PARTITIONS
    assert (await produced(brokers[0], topic, partition))[0].error_code == E.NONE


@on_cluster
async def test_a_request_without_acks_at_the_wrong_broker_closes_the_connection(cluster: Cluster) -> None:
    """The client then looks for the leader, as with Kafka."""
    brokers, topic = await strict_brokers(cluster, None, None)
    leader = (await leaders(brokers[0], topic))[0]
    reason = await brokers[2 - leader].closing_reason(produce(topic, batch(), acks=0))
    assert reason.startswith("acks=0 and NOT_LEADER_OR_FOLLOWER for")
