"""Listeners in responses: a client is given the addresses of the listener that it came by, and no others."""

from collections.abc import Mapping

from dray.cluster.brokers import PLAINTEXT, Endpoint
from dray.cluster.settings import RoutingSettings
from dray.wire import ErrorCode as E
from dray.wire.apis.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from dray.wire.apis.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from dray.wire.apis.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from dray.wire.apis.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from dray.wire.apis.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.api.builders import Broker, Cluster, on_cluster

PARTITIONS = 20
Places = Mapping[int, tuple[str, int]]


def both(broker_id: int) -> tuple[Endpoint, ...]:
    return (Endpoint(PLAINTEXT, f"in{broker_id}", 9000), Endpoint("EXTERNAL", f"out{broker_id}", 9100))


async def metadata(broker: Broker, listener: str, client_id: str = "test") -> MetadataResponse:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    return await broker.ask(MetadataResponse, request, listener=listener, client_id=client_id)


async def places(broker: Broker, listener: str) -> dict[str, Places]:
    """Return the addresses that each API names to clients of a listener."""
    found = await metadata(broker, listener)
    cluster = await broker.ask(DescribeClusterResponse, DescribeClusterRequest(), listener=listener)
    keys = [f"g{number}" for number in range(PARTITIONS)]
    request = FindCoordinatorRequest(coordinator_keys=keys)
    groups = await broker.ask(FindCoordinatorResponse, request, listener=listener)
    return {
        "metadata": {one.node_id: (one.host, one.port) for one in found.brokers},
        "cluster": {one.broker_id: (one.host, one.port) for one in cluster.brokers},
        "coordinators": {one.node_id: (one.host, one.port) for one in groups.coordinators},
    }


@on_cluster
async def test_every_api_names_the_addresses_of_the_listener_the_client_came_by(cluster: Cluster) -> None:
    first = await cluster.broker(1, listeners=both(1))
    await cluster.broker(2, listeners=both(2))
    await cluster.settle()
    inside, outside = {1: ("in1", 9000), 2: ("in2", 9000)}, {1: ("out1", 9100), 2: ("out2", 9100)}
    assert await places(first, PLAINTEXT) == dict.fromkeys(("metadata", "cluster", "coordinators"), inside)
    assert await places(first, "EXTERNAL") == dict.fromkeys(("metadata", "cluster", "coordinators"), outside)


@on_cluster
async def test_brokers_without_the_listener_are_neither_named_nor_leaders(cluster: Cluster) -> None:
    first = await cluster.broker(1, listeners=both(1))
    await cluster.broker(2, listeners=both(2)[:1])
    await cluster.settle()
    await first.make_topic("t", PARTITIONS)
    found = await metadata(first, "EXTERNAL")
    assert [(one.node_id, one.host) for one in found.brokers] == [(1, "out1")]
    assert {one.leader_id for one in found.topics[0].partitions} == {1}
    assert {one.error_code for one in found.topics[0].partitions} == {E.NONE}
    assert found.controller_id == 1
    by_default = await metadata(first, PLAINTEXT)
    assert {one.leader_id for one in by_default.topics[0].partitions} == {1, 2}


@on_cluster
async def test_zone_whose_brokers_lack_the_listener_is_served_by_all_that_have_it(cluster: Cluster) -> None:
    first = await cluster.broker(1, "a", listeners=both(1))
    await cluster.broker(2, "b", listeners=both(2)[:1])
    await cluster.settle()
    found = await metadata(first, "EXTERNAL", "zone_id=b")
    assert [(one.node_id, one.host) for one in found.brokers] == [(1, "out1")]


@on_cluster
async def test_older_registration_counts_as_plaintext_at_its_only_address(cluster: Cluster) -> None:
    first = await cluster.broker(1, listeners=both(1))
    await cluster.broker(2)
    await cluster.settle()
    assert (await places(first, PLAINTEXT))["metadata"] == {1: ("in1", 9000), 2: ("host2", 9094)}
    assert (await places(first, "EXTERNAL"))["metadata"] == {1: ("out1", 9100)}


@on_cluster
async def test_leaving_broker_names_itself_if_no_other_has_the_listener(cluster: Cluster) -> None:
    first = await cluster.broker(1, listeners=both(1))
    await cluster.broker(2, listeners=both(2)[:1])
    await cluster.settle()
    first.services.routing.leave()
    assert (await places(first, "EXTERNAL"))["metadata"] == {1: ("out1", 9100)}
    assert (await places(first, PLAINTEXT))["metadata"] == {2: ("in2", 9000)}


@on_cluster
async def test_refusals_name_the_leader_at_the_address_of_the_listener(cluster: Cluster) -> None:
    strict = RoutingSettings(enforce_owner=True)
    brokers = [await cluster.broker(number, routing=strict, listeners=both(number)) for number in (1, 2)]
    await cluster.settle()
    topic = await brokers[0].make_topic()
    leader = (await metadata(brokers[0], "EXTERNAL")).topics[0].partitions[0].leader_id
    wrong = brokers[2 - leader]
    data = TopicProduceData(topic_id=topic.topic_id, partition_data=[PartitionProduceData(index=0)])
    produce = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data])
    parts = [FetchPartition(partition=0, partition_max_bytes=1000)]
    fetch = FetchRequest(topics=[FetchTopic(topic_id=topic.topic_id, partitions=parts)])
    for listener, host, port in ((PLAINTEXT, "in", 9000), ("EXTERNAL", "out", 9100)):
        produced = await wrong.ask(ProduceResponse, produce, listener=listener)
        fetched = await wrong.ask(FetchResponse, fetch, 17, listener=listener)
        for nodes in (produced.node_endpoints, fetched.node_endpoints):
            assert [(one.node_id, one.host, one.port) for one in nodes] == [(leader, f"{host}{leader}", port)]
