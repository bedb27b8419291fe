"""Metadata over a real socket: which topics, by name and by id, made by asking or not."""

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
from tests.oracle.asking import Asker, asking
from tests.oracle.requests import Named

VERSIONS = range(14)
STRANGE_ID = bytes(range(16))


def ask(asker: Asker, version: int, *topics: MetadataRequestTopic, create: bool = False) -> MetadataResponse:
    request = MetadataRequest(topics=list(topics), allow_auto_topic_creation=create or version < 4)
    return asker.ask(request, MetadataResponse, version)


def by_name(name: str | None) -> MetadataRequestTopic:
    return MetadataRequestTopic(name=name)


def by_id(topic_id: bytes, name: str | None = None) -> MetadataRequestTopic:
    return MetadataRequestTopic(name=name, topic_id=topic_id)


def only(came: MetadataResponse) -> MetadataResponseTopic:
    (topic,) = came.topics
    return topic


@pytest.mark.parametrize("version", VERSIONS)
def test_the_cluster_is_told_in_every_version(
    asker: Asker, embedded: EmbeddedBroker, topic: Named, version: int
) -> None:
    came = ask(asker, version, by_name(topic.name))
    (node,) = came.brokers
    assert (node.host, node.port) == (embedded.host, embedded.port)
    assert came.cluster_id == (embedded.cluster_id if version >= 2 else None)
    assert came.controller_id == (node.node_id if version >= 1 else -1), "a broker of the same answer"
    (partition,) = only(came).partitions
    assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (
        node.node_id,
        [node.node_id],
        [node.node_id],
    )
    assert partition.leader_epoch == (0 if version >= 7 else -1)
    assert only(came).topic_id == (topic.topic_id if version >= 10 else bytes(16))


def test_version_0_takes_no_topics_for_all(asker: Asker, topic: Named) -> None:
    assert topic.name in {one.name for one in ask(asker, 0).topics}


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_no_topics_are_none_and_null_is_all(asker: Asker, topic: Named, version: int) -> None:
    nothing = ask(asker, version)
    assert (nothing.topics, len(nothing.brokers)) == ([], 1)
    everything = asker.ask(MetadataRequest(topics=None), MetadataResponse, version)
    assert topic.name in {one.name for one in everything.topics}


@pytest.mark.parametrize("version", [4, 9, 12, 13])
@pytest.mark.parametrize("name", ["", "a/b", ".", "..", "x" * 250, "é"])
def test_names_that_cannot_be(asker: Asker, version: int, name: str) -> None:
    told = only(ask(asker, version, by_name(name), create=True))
    assert (told.error_code, told.name, told.partitions) == (E.INVALID_TOPIC_EXCEPTION, name, [])


@pytest.mark.parametrize("version", [4, 9, 13])
def test_an_unknown_topic_is_made_only_if_the_client_allows_it(asker: Asker, version: int) -> None:
    name = f"asked-for-{uuid4().hex}"
    for _ in range(2):
        told = only(ask(asker, version, by_name(name)))
        assert (told.error_code, told.partitions) == (E.UNKNOWN_TOPIC_OR_PARTITION, [])
    assert len(only(ask(asker, version, by_name(name), create=True)).partitions) == 1
    assert only(ask(asker, version, by_name(name))).error_code == E.NONE


def test_nothing_is_made_where_the_broker_forbids_it() -> None:
    with (
        broker({"kafka.auto_create_topics": "false"}) as strict,
        asking((strict.host, strict.port)) as asker,
    ):
        for version in (0, 13):
            told = only(ask(asker, version, by_name("wanted"), create=True))
            assert told.error_code == E.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", [12, 13])
def test_topics_by_id(asker: Asker, make_topic: MakeTopic, version: int) -> None:
    topic, other = make_topic("by-id"), make_topic("other")
    assert only(ask(asker, version, by_id(topic.topic_id))).name == topic.name
    strange = only(ask(asker, version, by_id(STRANGE_ID)))
    assert (strange.error_code, strange.name, strange.topic_id) == (E.UNKNOWN_TOPIC_ID, None, STRANGE_ID)
    mixed = ask(asker, version, by_id(topic.topic_id), by_name(other.name))
    assert only(mixed).name == topic.name, "where there are ids, names are not looked at"


@pytest.mark.parametrize("version", [10, 11])
def test_before_version_12_ids_are_refused(asker: Asker, topic: Named, version: int) -> None:
    for asked in (by_id(topic.topic_id), by_id(topic.topic_id, topic.name), by_name(None)):
        came = ask(asker, version, asked, by_name(topic.name))
        assert {one.error_code for one in came.topics} == {E.INVALID_REQUEST}
        assert (came.brokers, came.cluster_id, came.controller_id) == ([], None, -1)


def test_a_topic_asked_twice_is_told_once(asker: Asker, topic: Named) -> None:
    assert only(ask(asker, 9, by_name(topic.name), by_name(topic.name))).error_code == E.NONE


def test_what_is_allowed_is_told_on_request(asker: Asker, topic: Named) -> None:
    silent = ask(asker, 9, by_name(topic.name))
    request = MetadataRequest(
        topics=[by_name(topic.name)],
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    open_hearted = asker.ask(request, MetadataResponse, 9)
    not_asked = -(2**31)
    assert (silent.cluster_authorized_operations, only(silent).topic_authorized_operations) == (
        not_asked,
        not_asked,
    )
    assert open_hearted.cluster_authorized_operations == 0b1_1111_1010_0000
    assert only(open_hearted).topic_authorized_operations == 0b1101_1111_1000


def test_a_topic_made_again_has_another_id(asker: Asker, make_topic: MakeTopic) -> None:
    first = make_topic("again")
    gone = DeleteTopicsRequest(topics=[DeleteTopicState(name=first.name)], timeout_ms=5000)
    asker.ask(gone, DeleteTopicsResponse)
    second = make_topic("again")
    assert second.name == first.name
    assert only(ask(asker, 12, by_id(second.topic_id))).name == first.name
    assert only(ask(asker, 12, by_id(first.topic_id))).error_code == E.UNKNOWN_TOPIC_ID


def test_all_apis_name_the_same_brokers(asker: Asker) -> None:
    came = ask(asker, 12)
    nodes = {(one.node_id, one.host, one.port) for one in came.brokers}
    cluster = asker.ask(DescribeClusterRequest(), DescribeClusterResponse)
    assert {(one.broker_id, one.host, one.port) for one in cluster.brokers} == nodes
    found = asker.ask(FindCoordinatorRequest(coordinator_keys=["g"]), FindCoordinatorResponse)
    assert {(one.node_id, one.host, one.port) for one in found.coordinators} <= nodes
    assert came.controller_id in {node for node, _, _ in nodes}


def test_kafkas_own_topics_are_called_internal(asker: Asker, topic: Named) -> None:
    internal = only(ask(asker, 9, by_name("__transaction_state"), create=True))
    assert (internal.is_internal, only(ask(asker, 9, by_name(topic.name))).is_internal) == (True, False)
