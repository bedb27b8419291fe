"""DescribeCluster, FindCoordinator and the answers of a cluster that has no leaders to move about."""

from dray.wire import ErrorCode
from dray.wire.apis.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from dray.wire.apis.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from dray.wire.apis.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from dray.wire.apis.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from dray.wire.apis.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)
from tests.api.builders import Broker, Cluster, on_broker, on_cluster

GROUP, TRANSACTION, SHARE = 0, 1, 2


@on_cluster
async def test_the_cluster_is_described(cluster: Cluster) -> None:
    broker = await cluster.broker(3, zone="z")
    await cluster.broker(5)
    for version in range(3):
        told = await broker.ask(DescribeClusterResponse, DescribeClusterRequest(), version)
        assert (told.error_code, told.error_message, told.endpoint_type) == (0, None, 1)
        assert (told.cluster_id, told.controller_id) == ("cluster", 3)
        found = [(one.broker_id, one.host, one.port, one.rack, one.is_fenced) for one in told.brokers]
        assert found == [(3, "host3", 9095, "z", False), (5, "host5", 9097, None, False)]
        assert told.cluster_authorized_operations == -(1 << 31)
    asked = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert (await broker.ask(DescribeClusterResponse, asked)).cluster_authorized_operations == 8096


@on_broker
async def test_only_brokers_can_be_described(broker: Broker) -> None:
    told = [
        await broker.ask(DescribeClusterResponse, DescribeClusterRequest(endpoint_type=kind), version)
        for kind in (2, 7)
        for version in (1, 2)
    ]
    mismatched = (
        "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
    )
    assert [(one.error_code, one.error_message, one.brokers) for one in told] == [
        (ErrorCode.MISMATCHED_ENDPOINT_TYPE, mismatched, []),
        (ErrorCode.MISMATCHED_ENDPOINT_TYPE, mismatched, []),
        (ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 7", []),
        (ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 7", []),
    ]


@on_broker
async def test_a_groups_coordinator_in_every_version(broker: Broker) -> None:
    for version in range(4):
        one = await broker.ask(FindCoordinatorResponse, FindCoordinatorRequest(key="g"), version)
        assert (one.error_code, one.error_message) == (0, "NONE" if version else "")
        assert (one.node_id, one.host, one.port) == (1, "host1", 9093)
    for version in range(4, 7):
        request = FindCoordinatorRequest(coordinator_keys=["g", "h", ""])
        told = (await broker.ask(FindCoordinatorResponse, request, version)).coordinators
        assert [(one.key, one.node_id, one.host, one.port, one.error_code) for one in told] == [
            (key, 1, "host1", 9093, 0) for key in ("g", "h", "")
        ]


@on_broker
async def test_transactions_and_share_groups_are_refused_for_good(broker: Broker) -> None:
    refused = {
        TRANSACTION: (
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "Transactions are not served by Dray.",
        ),
        SHARE: (ErrorCode.INVALID_REQUEST, "There are no coordinators of type 2."),
        9: (ErrorCode.INVALID_REQUEST, "There are no coordinators of type 9."),
    }
    for kind, told in refused.items():
        for version in range(1, 4):
            request = FindCoordinatorRequest(key="x", key_type=kind)
            one = await broker.ask(FindCoordinatorResponse, request, version)
            assert (one.error_code, one.error_message) == told
            assert (one.node_id, one.host, one.port) == (-1, "", -1)
        for version in range(4, 7):
            request = FindCoordinatorRequest(coordinator_keys=["x", "y"], key_type=kind)
            both = (await broker.ask(FindCoordinatorResponse, request, version)).coordinators
            assert [(one.key, one.node_id) for one in both] == [("x", -1), ("y", -1)]
            assert {(one.error_code, one.error_message) for one in both} == {told}


@on_cluster
async def test_all_brokers_name_the_same_coordinator(cluster: Cluster) -> None:
    brokers = [await cluster.broker(number) for number in (1, 2, 3)]
    groups = [f"group {number}" for number in range(30)]
    request = FindCoordinatorRequest(coordinator_keys=groups)
    answers = [
        [one.node_id for one in (await broker.ask(FindCoordinatorResponse, request)).coordinators]
        for broker in brokers
    ]
    assert answers[0] == answers[1] == answers[2]
    assert set(answers[0]) == {1, 2, 3}


@on_broker
async def test_no_election_is_ever_needed(broker: Broker) -> None:
    await broker.make_topic("t", 2)
    asked = [TopicPartitions(topic="t", partitions=[0, 1, 2]), TopicPartitions(topic="u", partitions=[0])]
    for version in range(3):
        for kind in (0, 1) if version else (0,):
            request = ElectLeadersRequest(election_type=kind, topic_partitions=asked)
            answer = await broker.ask(ElectLeadersResponse, request, version)
            assert answer.error_code == 0
            assert [
                (topic.topic, one.partition_id, one.error_code, one.error_message)
                for topic in answer.replica_election_results
                for one in topic.partition_result
            ] == [
                ("t", 0, 84, "Leader election not needed for topic partition."),
                ("t", 1, 84, "Leader election not needed for topic partition."),
                ("t", 2, 3, "No such partition as t-2"),
                ("u", 0, 3, "No such topic as u"),
            ]


@on_broker
async def test_electing_everywhere_tells_of_no_partition(broker: Broker) -> None:
    await broker.make_topic("t", 2)
    answer = await broker.ask(ElectLeadersResponse, ElectLeadersRequest(topic_partitions=None))
    assert [(one.topic, one.partition_result) for one in answer.replica_election_results] == [("t", [])]


@on_broker
async def test_an_election_nobody_knows(broker: Broker) -> None:
    asked = [TopicPartitions(topic="t", partitions=[0])]
    request = ElectLeadersRequest(election_type=5, topic_partitions=asked)
    answer = await broker.ask(ElectLeadersResponse, request)
    (told,) = answer.replica_election_results[0].partition_result
    assert answer.error_code == told.error_code == ErrorCode.INVALID_REQUEST
    assert told.error_message == "Unknown election type 5"


@on_broker
async def test_nothing_is_being_reassigned(broker: Broker) -> None:
    await broker.make_topic("t")
    asked = [ListPartitionReassignmentsTopics(name="t", partition_indexes=[0])]
    for topics in (None, asked):
        request = ListPartitionReassignmentsRequest(topics=topics)
        answer = await broker.ask(ListPartitionReassignmentsResponse, request)
        assert (answer.error_code, answer.error_message, answer.topics) == (0, None, [])


async def listed(broker: Broker, *kinds: int, version: int = 1) -> tuple[int, list[tuple[int, str]]]:
    request = ListConfigResourcesRequest(resource_types=list(kinds))
    answer = await broker.ask(ListConfigResourcesResponse, request, version)
    return answer.error_code, [(one.resource_type, one.resource_name) for one in answer.config_resources]


@on_cluster
async def test_what_has_configs_is_listed(cluster: Cluster) -> None:
    broker = await cluster.broker(1)
    await cluster.broker(2)
    await broker.make_topic("b")
    await broker.make_topic("a")
    brokers, loggers, topics = [(4, "1"), (4, "2")], [(8, "1"), (8, "2")], [(2, "a"), (2, "b")]
    assert await listed(broker) == (0, [*loggers, *brokers, *topics])
    assert await listed(broker, 2, 4) == (0, [*brokers, *topics])
    assert await listed(broker, 16, 32) == (0, [])
    assert await listed(broker, 2, 3) == (ErrorCode.UNSUPPORTED_VERSION, [])
    assert await listed(broker, version=0) == (0, [])
