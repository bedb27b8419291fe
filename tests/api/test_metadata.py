"""Metadata over a real socket: topics by name and by id, and auto-creation."""

from uuid import uuid4

import pytest

from dray.testing import EmbeddedBroker, broker
from dray.wire import ErrorCode as E
from dray.wire.apis.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from dray.wire.apis.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from dray.wire.apis.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from dray.wire.apis.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from tests.api.conftest import MakeTopic
from tests.oracle.request_client import RequestClient, request_client
from tests.oracle.requests import Named

VERSIONS = range(14)
STRANGE_ID = bytes(range(16))


def ask(
    client: RequestClient, version: int, *topics: MetadataRequestTopic, create: bool = False
) -> MetadataResponse:
    request = MetadataRequest(topics=list(topics), allow_auto_topic_creation=create or version < 4)
    return client.send(request, MetadataResponse, version)


def by_name(name: str | None) -> MetadataRequestTopic:
    return MetadataRequestTopic(name=name)


def by_id(topic_id: bytes, name: str | None = None) -> MetadataRequestTopic:
    return MetadataRequestTopic(name=name, topic_id=topic_id)


def only(reply: MetadataResponse) -> MetadataResponseTopic:
    (topic,) = reply.topics
    return topic


@pytest.mark.parametrize("version", VERSIONS)
def test_metadata_of_the_cluster_in_every_version(
    client: RequestClient, embedded: EmbeddedBroker, topic: Named, version: int
) -> None:
    reply = ask(client, version, by_name(topic.name))
    (node,) = reply.brokers
    assert (node.host, node.port) == (embedded.host, embedded.port)
    assert reply.cluster_id == (embedded.cluster_id if version >= 2 else None)
    assert reply.controller_id == (node.node_id if version >= 1 else -1), "a broker of the same answer"
    (partition,) = only(reply).partitions
    assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (
        node.node_id,
        [node.node_id],
        [node.node_id],
    )
    assert partition.leader_epoch == (0 if version >= 7 else -1)
    assert only(reply).topic_id == (topic.topic_id if version >= 10 else bytes(16))


def test_empty_list_means_all_topics_in_version_0(client: RequestClient, topic: Named) -> None:
    assert topic.name in {one.name for one in ask(client, 0).topics}


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_empty_list_means_no_topics_and_null_means_all(
    client: RequestClient, topic: Named, version: int
) -> None:
    nothing = ask(client, version)
    assert (nothing.topics, len(nothing.brokers)) == ([], 1)
    everything = client.send(MetadataRequest(topics=None), MetadataResponse, version)
    assert topic.name in {one.name for one in everything.topics}


@pytest.mark.parametrize("version", [4, 9, 12, 13])
@pytest.mark.parametrize("name", ["", "a/b", ".", "..", "x" * 250, "é"])
def test_invalid_topic_names_are_refused(client: RequestClient, version: int, name: str) -> None:
    response = only(ask(client, version, by_name(name), create=True))
    assert (response.error_code, response.name, response.partitions) == (E.INVALID_TOPIC_EXCEPTION, name, [])


@pytest.mark.parametrize("version", [4, 9, 13])
def test_unknown_topic_is_created_only_if_the_client_allows_it(client: RequestClient, version: int) -> None:
    name = f"requested-for-{uuid4().hex}"
    for _ in range(2):
        response = only(ask(client, version, by_name(name)))
        assert (response.error_code, response.partitions) == (E.UNKNOWN_TOPIC_OR_PARTITION, [])
    assert len(only(ask(client, version, by_name(name), create=True)).partitions) == 1
    assert only(ask(client, version, by_name(name))).error_code == E.NONE


def test_no_topic_is_created_if_auto_creation_is_disabled() -> None:
    with (
        broker({"kafka.auto_create_topics_enable": "false"}) as strict,
        request_client((strict.host, strict.port)) as client,
    ):
        for version in (0, 13):
            response = only(ask(client, version, by_name("wanted"), create=True))
            assert response.error_code == E.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", [12, 13])
def test_topics_are_found_by_id(client: RequestClient, make_topic: MakeTopic, version: int) -> None:
    topic, other = make_topic("by-id"), make_topic("other")
    assert only(ask(client, version, by_id(topic.topic_id))).name == topic.name
    strange = only(ask(client, version, by_id(STRANGE_ID)))
    assert (strange.error_code, strange.name, strange.topic_id) == (E.UNKNOWN_TOPIC_ID, None, STRANGE_ID)
    mixed = ask(client, version, by_id(topic.topic_id), by_name(other.name))
    assert only(mixed).name == topic.name, "where there are ids, names are not looked at"


@pytest.mark.parametrize("version", [10, 11])
def test_lookup_by_id_is_refused_before_version_12(client: RequestClient, topic: Named, version: int) -> None:
    for requested in (by_id(topic.topic_id), by_id(topic.topic_id, topic.name), by_name(None)):
        reply = ask(client, version, requested, by_name(topic.name))
        assert {one.error_code for one in reply.topics} == {E.INVALID_REQUEST}
        assert (reply.brokers, reply.cluster_id, reply.controller_id) == ([], None, -1)


def test_duplicate_topic_is_returned_once(client: RequestClient, topic: Named) -> None:
    assert only(ask(client, 9, by_name(topic.name), by_name(topic.name))).error_code == E.NONE


def test_authorized_operations_are_returned_on_request(client: RequestClient, topic: Named) -> None:
    silent = ask(client, 9, by_name(topic.name))
    request = MetadataRequest(
        topics=[by_name(topic.name)],
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    open_hearted = client.send(request, MetadataResponse, 9)
    not_asked = -(2**31)
    assert (silent.cluster_authorized_operations, only(silent).topic_authorized_operations) == (
        not_asked,
        not_asked,
    )
    assert open_hearted.cluster_authorized_operations == 0b1_1111_1010_0000
    assert only(open_hearted).topic_authorized_operations == 0b1101_1111_1000


def test_recreated_topic_has_another_id(client: RequestClient, make_topic: MakeTopic) -> None:
    first = make_topic("again")
    gone = DeleteTopicsRequest(topics=[DeleteTopicState(name=first.name)], timeout_ms=5000)
    client.send(gone, DeleteTopicsResponse)
    second = make_topic("again")
    assert second.name == first.name
    assert only(ask(client, 12, by_id(second.topic_id))).name == first.name
    assert only(ask(client, 12, by_id(first.topic_id))).error_code == E.UNKNOWN_TOPIC_ID


def test_all_apis_return_the_same_brokers(client: RequestClient) -> None:
    reply = ask(client, 12)
    nodes = {(one.node_id, one.host, one.port) for one in reply.brokers}
    cluster = client.send(DescribeClusterRequest(), DescribeClusterResponse)
    assert {(one.broker_id, one.host, one.port) for one in cluster.brokers} == nodes
    found = client.send(FindCoordinatorRequest(coordinator_keys=["g"]), FindCoordinatorResponse)
    assert {(one.node_id, one.host, one.port) for one in found.coordinators} <= nodes
    assert reply.controller_id in {node for node, _, _ in nodes}


def test_internal_topics_of_kafka_are_marked(client: RequestClient, topic: Named) -> None:
    internal = only(ask(client, 9, by_name("__transaction_state"), create=True))
    assert (internal.is_internal, only(ask(client, 9, by_name(topic.name))).is_internal) == (True, False)
