"""DescribeCluster, FindCoordinator, elections and reassignments in a cluster without leaders."""

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
async def test_describe_cluster_returns_live_brokers(cluster: Cluster) -> None:
    broker = await cluster.broker(3, zone="z")
    await cluster.broker(5)
    for version in range(3):
        response = await broker.ask(DescribeClusterResponse, DescribeClusterRequest(), version)
        assert (response.error_code, response.error_message, response.endpoint_type) == (0, None, 1)
        assert (response.cluster_id, response.controller_id) == ("cluster", 3)
        found = [(one.broker_id, one.host, one.port, one.rack, one.is_fenced) for one in response.brokers]
        assert found == [(3, "host3", 9095, "z", False), (5, "host5", 9097, None, False)]
        assert response.cluster_authorized_operations == -(1 << 31)
    requested = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert (await broker.ask(DescribeClusterResponse, requested)).cluster_authorized_operations == 8096


@on_broker
async def test_endpoint_types_other_than_brokers_are_refused(broker: Broker) -> None:
    response = [
        await broker.ask(DescribeClusterResponse, DescribeClusterRequest(endpoint_type=kind), version)
        for kind in (2, 7)
        for version in (1, 2)
    ]
    mismatched = (
        "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
    )
    assert [(one.error_code, one.error_message, one.brokers) for one in response] == [
        (ErrorCode.MISMATCHED_ENDPOINT_TYPE, mismatched, []),
        (ErrorCode.MISMATCHED_ENDPOINT_TYPE, mismatched, []),
        (ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 7", []),
        (ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 7", []),
    ]


@on_broker
async def test_group_coordinator_is_found_in_every_version(broker: Broker) -> None:
    for version in range(4):
        one = await broker.ask(FindCoordinatorResponse, FindCoordinatorRequest(key="g"), version)
        assert (one.error_code, one.error_message) == (0, "NONE" if version else "")
        assert (one.node_id, one.host, one.port) == (1, "host1", 9093)
    for version in range(4, 7):
        request = FindCoordinatorRequest(coordinator_keys=["g", "h", ""])
        response = (await broker.ask(FindCoordinatorResponse, request, version)).coordinators
        assert [(one.key, one.node_id, one.host, one.port, one.error_code) for one in response] == [
            (key, 1, "host1", 9093, 0) for key in ("g", "h", "")
        ]


@on_broker
async def test_transaction_coordinators_are_refused_with_an_error_that_is_fatal_to_clients(
    broker: Broker,
) -> None:
    why = "Dray does not support transactions yet."
    for version in range(1, 4):
        request = FindCoordinatorRequest(key="x", key_type=TRANSACTION)
        one = await broker.ask(FindCoordinatorResponse, request, version)
        fatal_to_librdkafka = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        code = fatal_to_librdkafka if version < 3 else ErrorCode.UNSUPPORTED_VERSION
        assert (one.error_code, one.error_message) == (code, why)
        assert (one.node_id, one.host, one.port) == (-1, "", -1)
    for version in range(4, 7):
        request = FindCoordinatorRequest(coordinator_keys=["x", "y"], key_type=TRANSACTION)
        both = (await broker.ask(FindCoordinatorResponse, request, version)).coordinators
        assert [(one.key, one.node_id) for one in both] == [("x", -1), ("y", -1)]
        assert {(one.error_code, one.error_message) for one in both} == {(ErrorCode.UNSUPPORTED_VERSION, why)}


@on_broker
async def test_coordinators_of_share_groups_and_unknown_types_are_invalid_requests(broker: Broker) -> None:
    refused = {
        SHARE: (ErrorCode.INVALID_REQUEST, "There are no coordinators of type 2."),
        9: (ErrorCode.INVALID_REQUEST, "There are no coordinators of type 9."),
    }
    for kind, response in refused.items():
        for version in range(1, 4):
            request = FindCoordinatorRequest(key="x", key_type=kind)
            one = await broker.ask(FindCoordinatorResponse, request, version)
            assert (one.error_code, one.error_message) == response
            assert (one.node_id, one.host, one.port) == (-1, "", -1)
        for version in range(4, 7):
            request = FindCoordinatorRequest(coordinator_keys=["x", "y"], key_type=kind)
            both = (await broker.ask(FindCoordinatorResponse, request, version)).coordinators
            assert [(one.key, one.node_id) for one in both] == [("x", -1), ("y", -1)]
            assert {(one.error_code, one.error_message) for one in both} == {response}


@on_cluster
async def test_all_brokers_return_the_same_coordinator(cluster: Cluster) -> None:
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
async def test_elections_are_answered_with_election_not_needed(broker: Broker) -> None:
    await broker.make_topic("t", 2)
    requested = [TopicPartitions(topic="t", partitions=[0, 1, 2]), TopicPartitions(topic="u", partitions=[0])]
    for version in range(3):
        for kind in (0, 1) if version else (0,):
            request = ElectLeadersRequest(election_type=kind, topic_partitions=requested)
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
async def test_election_for_all_partitions_returns_no_partition(broker: Broker) -> None:
    await broker.make_topic("t", 2)
    answer = await broker.ask(ElectLeadersResponse, ElectLeadersRequest(topic_partitions=None))
    assert [(one.topic, one.partition_result) for one in answer.replica_election_results] == [("t", [])]


@on_broker
async def test_unknown_election_type_is_refused(broker: Broker) -> None:
    requested = [TopicPartitions(topic="t", partitions=[0])]
    request = ElectLeadersRequest(election_type=5, topic_partitions=requested)
    answer = await broker.ask(ElectLeadersResponse, request)
    (response,) = answer.replica_election_results[0].partition_result
    assert answer.error_code == response.error_code == ErrorCode.INVALID_REQUEST
    assert response.error_message == "Unknown election type 5"


@on_broker
async def test_no_partition_is_being_reassigned(broker: Broker) -> None:
    await broker.make_topic("t")
    requested = [ListPartitionReassignmentsTopics(name="t", partition_indexes=[0])]
    for topics in (None, requested):
        request = ListPartitionReassignmentsRequest(topics=topics)
        answer = await broker.ask(ListPartitionReassignmentsResponse, request)
        assert (answer.error_code, answer.error_message, answer.topics) == (0, None, [])


async def listed(broker: Broker, *kinds: int, version: int = 1) -> tuple[int, list[tuple[int, str]]]:
    request = ListConfigResourcesRequest(resource_types=list(kinds))
    answer = await broker.ask(ListConfigResourcesResponse, request, version)
    return answer.error_code, [(one.resource_type, one.resource_name) for one in answer.config_resources]


@on_cluster
async def test_resources_with_configs_are_listed(cluster: Cluster) -> None:
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
