"""DeleteTopics: by name and by id, errors, and the streams that the sweep removes."""

import asyncio

import pytest

from dray.api.settings import KafkaSettings
from dray.ids import MetaDomain
from dray.keyspace import CLUSTER_DOMAIN, deleted_topics_range, head_key, log_domain
from dray.log import StreamUnknown
from dray.runtime import Tasks
from dray.wire import ZERO_UUID, ErrorCode
from dray.wire.apis.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from dray.wire.apis.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from tests.api.builders import Broker, Cluster, on_broker, on_cluster

NO_NAME = "This server does not host this topic-partition."
NO_ID = "This server does not host this topic ID."


async def delete(
    broker: Broker, *topics: DeleteTopicState | str, version: int = 6
) -> list[DeletableTopicResult]:
    """Send the states in the fields that the version has."""
    names = [topic for topic in topics if isinstance(topic, str)]
    states = [topic for topic in topics if not isinstance(topic, str)]
    if version >= 6:
        states += [DeleteTopicState(name=name) for name in names]
        names = []
    request = DeleteTopicsRequest(topic_names=names, topics=states)
    return (await broker.ask(DeleteTopicsResponse, request, version)).responses


def response(results: list[DeletableTopicResult]) -> set[tuple[str | None, bytes, int, str | None]]:
    return {(one.name, one.topic_id, one.error_code, one.error_message) for one in results}


@on_broker
async def test_topics_are_deleted_by_name_and_by_id(broker: Broker) -> None:
    one, two = await broker.make_topic("one"), await broker.make_topic("two")
    results = await delete(broker, "one", DeleteTopicState(topic_id=two.topic_id))
    assert response(results) == {("one", one.topic_id, 0, None), ("two", two.topic_id, 0, None)}
    assert broker.services.topics.all() == []


@on_broker
async def test_every_version_is_answered(broker: Broker) -> None:
    for version in range(1, 7):
        await broker.make_topic("t")
        (result,) = await delete(broker, "t", version=version)
        assert (result.name, result.error_code) == ("t", 0)
        (result,) = await delete(broker, "t", version=version)
        assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert result.error_message == (NO_NAME if version >= 5 else None)


@on_broker
async def test_missing_topics_are_unknown(broker: Broker) -> None:
    id_ = b"\7" * 16
    results = await delete(broker, "missing", "not/a name", "", DeleteTopicState(topic_id=id_))
    assert response(results) == {
        ("missing", ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NO_NAME),
        ("not/a name", ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NO_NAME),
        ("", ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NO_NAME),
        (None, id_, ErrorCode.UNKNOWN_TOPIC_ID, NO_ID),
    }


@on_broker
async def test_both_or_neither_of_name_and_id_are_refused(broker: Broker) -> None:
    topic = await broker.make_topic("t")
    both = DeleteTopicState(name="t", topic_id=topic.topic_id)
    results = await delete(broker, both, DeleteTopicState(), DeleteTopicState())
    assert [(one.name, one.topic_id, one.error_message) for one in results] == [
        ("t", topic.topic_id, "You may not specify both topic name and topic id."),
        (None, ZERO_UUID, "Neither topic name nor id were specified."),
        (None, ZERO_UUID, "Neither topic name nor id were specified."),
    ]
    assert {one.error_code for one in results} == {ErrorCode.INVALID_REQUEST}
    assert broker.services.topics.find("t") is not None


@on_broker
async def test_duplicate_entries_are_refused(broker: Broker) -> None:
    topic, other = await broker.make_topic("t"), await broker.make_topic("u")
    by_id = DeleteTopicState(topic_id=other.topic_id)
    results = await delete(broker, "t", "t", by_id, by_id)
    assert response(results) == {
        ("t", ZERO_UUID, ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
        (None, other.topic_id, ErrorCode.INVALID_REQUEST, "Duplicate topic id."),
    }
    results = await delete(broker, "t", DeleteTopicState(topic_id=topic.topic_id))
    why = "The provided topic name maps to an ID that was already supplied."
    assert response(results) == {("t", topic.topic_id, ErrorCode.INVALID_REQUEST, why)}
    assert [known.name for known in broker.services.topics.all()] == ["t", "u"]


@on_cluster
async def test_deletion_can_be_disabled(cluster: Cluster) -> None:
    broker = await cluster.broker(settings=KafkaSettings(delete_topic_enable=False))
    await broker.make_topic("t")
    codes = {}
    for version in range(1, 7):
        (result,) = await delete(broker, "t", version=version)
        assert (result.name, result.error_message) == ("t", None)
        codes[version] = result.error_code
    disabled, invalid = ErrorCode.TOPIC_DELETION_DISABLED, ErrorCode.INVALID_REQUEST
    assert codes == {1: invalid, 2: invalid, 3: disabled, 4: disabled, 5: disabled, 6: disabled}
    assert broker.services.topics.find("t") is not None


@on_cluster
async def test_deleted_streams_are_removed_by_the_sweep_of_any_broker(
    cluster: Cluster,
) -> None:
    one, two = await cluster.broker(1), await cluster.broker(2)
    topic = await one.make_topic("t", 3)
    await one.append(topic)
    await delete(one, "t")
    meta = cluster.meta("look", Tasks())
    assert len(await meta.scan(CLUSTER_DOMAIN, *deleted_topics_range())) == 1
    heads = log_domain(MetaDomain(0))
    assert [await meta.get(heads, head_key(stream)) is None for stream in topic.streams] == [False] * 3
    await two.services.topic_admin.finish_deletions()
    assert await meta.scan(CLUSTER_DOMAIN, *deleted_topics_range()) == []
    assert [await meta.get(heads, head_key(stream)) is None for stream in topic.streams] == [True] * 3


@on_cluster
async def test_broker_that_missed_the_deletion_cannot_append(cluster: Cluster) -> None:
    one, two = await cluster.broker(1), await cluster.broker(2)
    topic = await one.make_topic("t")
    await two.append(topic)
    await delete(one, "t")
    with pytest.raises(StreamUnknown):
        await two.append(topic)


@on_broker
async def test_fetch_by_the_id_of_a_deleted_topic_returns_unknown_topic_id(broker: Broker) -> None:
    old = await broker.make_topic("t")
    await delete(broker, "t")
    new = await broker.make_topic("t")
    assert new.topic_id != old.topic_id
    codes = []
    for topic in (old, new):
        wanted = FetchTopic(topic_id=topic.topic_id, partitions=[FetchPartition(partition_max_bytes=1000)])
        answer = await broker.ask(FetchResponse, FetchRequest(topics=[wanted], max_bytes=1000), 17)
        codes.append(answer.responses[0].partitions[0].error_code)
    assert codes == [ErrorCode.UNKNOWN_TOPIC_ID, 0]


@on_cluster
async def test_id_of_a_topic_just_created_through_another_broker_is_found(cluster: Cluster) -> None:
    one, two = await cluster.broker(1), await cluster.broker(2)
    topic = await one.make_topic("t")
    (result,) = await delete(two, DeleteTopicState(topic_id=topic.topic_id))
    assert (result.name, result.error_code) == ("t", 0)
    (result,) = await delete(one, DeleteTopicState(topic_id=topic.topic_id))
    assert (result.name, result.error_code) == (None, ErrorCode.UNKNOWN_TOPIC_ID)


@on_cluster
async def test_concurrent_deletion_succeeds_once(cluster: Cluster) -> None:
    one, two = await cluster.broker(1), await cluster.broker(2)
    await one.make_topic("t")
    by_id = DeleteTopicState(topic_id=(await one.make_topic("u")).topic_id)
    await cluster.settle()
    for requested, missing in (
        ("t", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (by_id, ErrorCode.UNKNOWN_TOPIC_ID),
    ):
        answers = await asyncio.gather(delete(one, requested), delete(two, requested))
        assert sorted(answer[0].error_code for answer in answers) == [0, missing]
