"""Zones in responses: every API that returns brokers returns only those of the client's zone.

Metadata lists besides them the broker that answers, and nothing else (docs/decisions/0013).
"""

from dray.wire.apis.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from dray.wire.apis.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from dray.wire.apis.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from dray.wire.apis.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.api.builders import Broker, Cluster, on_cluster

PARTITIONS = 40


async def response(broker: Broker, client_id: str) -> dict[str, set[int]]:
    """Return the brokers that each API returns to a client."""
    wanted = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    metadata = await broker.ask(MetadataResponse, wanted, client_id=client_id)
    cluster = await broker.ask(DescribeClusterResponse, DescribeClusterRequest(), client_id=client_id)
    groups = FindCoordinatorRequest(coordinator_keys=[f"g{number}" for number in range(PARTITIONS)])
    coordinators = await broker.ask(FindCoordinatorResponse, groups, client_id=client_id)
    topic = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="t")])
    described = await broker.ask(DescribeTopicPartitionsResponse, topic, client_id=client_id)
    return {
        "brokers": {one.node_id for one in metadata.brokers},
        "leaders": {one.leader_id for one in metadata.topics[0].partitions},
        "replicas": {node for one in metadata.topics[0].partitions for node in one.replica_nodes},
        "cluster": {one.broker_id for one in cluster.brokers},
        "coordinators": {one.node_id for one in coordinators.coordinators},
        "described": {one.leader_id for one in described.topics[0].partitions},
        "controllers": {metadata.controller_id, cluster.controller_id},
    }


async def three_zones(cluster: Cluster) -> list[Broker]:
    zones = ((1, "a"), (2, "a"), (3, "b"), (4, None))
    brokers = [await cluster.broker(number, zone) for number, zone in zones]
    await brokers[0].make_topic("t", PARTITIONS)
    await cluster.settle()
    return brokers


@on_cluster
async def test_client_sees_only_brokers_of_its_zone(cluster: Cluster) -> None:
    for number, broker in enumerate(await three_zones(cluster), 1):
        for client_id, zone in (("zone_id=a,app=x", {1, 2}), ("app=x,zone_id=b", {3})):
            found = await response(broker, client_id)
            assert found.pop("controllers") <= zone
            assert found.pop("brokers") == zone | {number}, "who answers can be requested again"
            assert found == dict.fromkeys(found, zone)


@on_cluster
async def test_client_without_zone_or_in_an_empty_zone_sees_all_brokers(cluster: Cluster) -> None:
    for broker in await three_zones(cluster):
        for client_id in ("", "rdkafka", "zone_id=,x=y", "zone_id=nowhere"):
            found = await response(broker, client_id)
            assert found.pop("controllers") <= {1, 2, 3, 4}
            assert found == {what: {1, 2, 3, 4} for what in found}


@on_cluster
async def test_when_the_last_broker_of_a_zone_dies_clients_see_the_others(cluster: Cluster) -> None:
    brokers = await three_zones(cluster)
    await brokers[2].stop()
    await cluster.settle()
    assert (await response(brokers[0], "zone_id=b"))["brokers"] == {1, 2, 4}
    assert (await response(brokers[0], "zone_id=a"))["brokers"] == {1, 2}


@on_cluster
async def test_all_brokers_of_a_zone_return_the_same_leaders(cluster: Cluster) -> None:
    brokers = await three_zones(cluster)
    answers = []
    for broker in brokers:
        request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
        answer = await broker.ask(MetadataResponse, request, client_id="zone_id=a")
        answers.append([one.leader_id for one in answer.topics[0].partitions])
    assert all(answer == answers[0] for answer in answers)
    assert set(answers[0]) == {1, 2}
