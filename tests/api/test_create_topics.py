"""CreateTopics: the created topic in the response, and errors with Kafka's codes and messages."""

import pytest

from dray.api.settings import KafkaSettings
from dray.cluster.configs import TOPIC_CONFIGS
from dray.wire import ZERO_UUID, ErrorCode
from dray.wire.apis.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.api.builders import Broker, Cluster, on_broker, on_cluster, with_broker


def topic(name: str = "t", partitions: int = 1, factor: int = 1, **configs: str | None) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[
            CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()
        ],
    )


def assigned(*partitions: tuple[int, list[int]], count: int = -1, factor: int = -1) -> CreatableTopic:
    return CreatableTopic(
        name="t",
        num_partitions=count,
        replication_factor=factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=number, broker_ids=brokers)
            for number, brokers in partitions
        ],
    )


async def create(
    broker: Broker, *topics: CreatableTopic, validate_only: bool = False, version: int = 7
) -> list[CreatableTopicResult]:
    request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    return (await broker.ask(CreateTopicsResponse, request, version)).topics


@on_broker
async def test_create_topics_returns_the_topic_with_its_configs(broker: Broker) -> None:
    (made,) = await create(broker, topic("orders", 3, 2, retention_ms="5", cleanup_policy="compact, delete"))
    stored = broker.services.topics.find("orders")
    assert stored is not None
    assert (made.error_code, made.error_message) == (0, None)
    assert made.topic_id == stored.topic_id != ZERO_UUID
    assert (made.num_partitions, made.replication_factor, made.topic_config_error_code) == (3, 2, 0)
    assert len(set(stored.streams)) == 3
    for stream in stored.streams:
        assert (await broker.services.log.head(stream)).high_watermark == 0
    configs = {config.name: config for config in made.configs or ()}
    assert list(configs) == sorted(TOPIC_CONFIGS)
    response = configs["retention.ms"], configs["cleanup.policy"], configs["segment.ms"]
    assert [(config.value, config.config_source) for config in response] == [
        ("5", 1),
        ("compact, delete", 1),
        ("604800000", 5),
    ]
    assert not any(config.read_only or config.is_sensitive for config in configs.values())


@on_cluster
async def test_minus_one_means_the_default_of_the_broker(cluster: Cluster) -> None:
    broker = await cluster.broker(settings=KafkaSettings(num_partitions=4, default_replication_factor=2))
    (made,) = await create(broker, topic("t", -1, -1))
    assert (made.num_partitions, made.replication_factor) == (4, 2)
    stored = broker.services.topics.find("t")
    assert stored is not None
    assert len(stored.streams) == 4


@on_broker
async def test_every_version_is_answered(broker: Broker) -> None:
    for version in range(2, 8):
        (made,) = await create(broker, topic(f"v{version}"), version=version)
        assert (made.name, made.error_code) == (f"v{version}", 0)
        assert (made.topic_id != ZERO_UUID) == (version >= 7)
        assert made.num_partitions == (1 if version >= 5 else -1)


@on_broker
async def test_validate_only_creates_no_topic(broker: Broker) -> None:
    fine, bad = await create(broker, topic("fine", 2), topic("bad", 0), validate_only=True)
    assert (fine.error_code, fine.num_partitions, fine.topic_id) == (0, 2, ZERO_UUID)
    assert bad.error_code == ErrorCode.INVALID_PARTITIONS
    assert broker.services.topics.all() == []


OTHER_CHARACTERS = "one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
REFUSED = {
    "no name": (topic(""), 17, "Topic name is invalid: the empty string is not allowed"),
    "dot": (topic("."), 17, "Topic name is invalid: '.' is not allowed"),
    "dots": (topic(".."), 17, "Topic name is invalid: '..' is not allowed"),
    "slash": (
        topic("a/b"),
        17,
        f"Topic name is invalid: 'a/b' contains {OTHER_CHARACTERS}",
    ),
    "long": (
        topic("x" * 250),
        17,
        f"Topic name is invalid: the length of '{'x' * 250}' is longer than the max allowed length 249",
    ),
    "Kafka's own": (
        topic("__cluster_metadata"),
        42,
        "Creation of internal topic __cluster_metadata is prohibited.",
    ),
    "existing": (topic("old.topic"), 36, "Topic 'old.topic' already exists."),
    "colliding": (topic("old_topic"), 17, "Topic 'old_topic' collides with existing topic: old.topic"),
    "no partitions": (topic("t", 0), 37, "Number of partitions was set to an invalid non-positive value."),
    "minus two": (topic("t", -2), 37, "Number of partitions was set to an invalid non-positive value."),
    "no replicas": (
        topic("t", 1, 0),
        38,
        "Replication factor must be larger than 0, or -1 to use the default value.",
    ),
    "minus two replicas": (
        topic("t", 0, -2),
        38,
        "Replication factor must be larger than 0, or -1 to use the default value.",
    ),
    "bad value": (
        topic("t", 0, retention_ms="soon"),
        40,
        "Invalid value soon for configuration retention.ms: Not a number of type LONG",
    ),
    "unknown config": (topic("t", no_such="1"), 40, "Unknown topic config name: no.such"),
    "null value": (
        topic("t", retention_ms=None, segment_ms=None),
        40,
        "Null value not supported for topic configs: retention.ms,segment.ms",
    ),
    "assigned and factor": (
        assigned((0, [1]), factor=1),
        42,
        "A manual partition assignment was specified, but replication factor was not set to -1.",
    ),
    "assigned and count": (
        assigned((0, [1]), count=1),
        42,
        "A manual partition assignment was specified, but numPartitions was not set to -1.",
    ),
    "assigned twice": (
        assigned((0, [1]), (0, [1])),
        39,
        "Found multiple manual partition assignments for partition 0",
    ),
    "hole": (
        assigned((0, [1]), (2, [1])),
        39,
        "partitions should be a consecutive 0-based integer sequence",
    ),
    "missing": (assigned((0, [])), 39, "The manual partition assignment includes an empty replica list."),
    "stranger": (
        assigned((0, [1, 9])),
        39,
        "The manual partition assignment includes broker 9, but no such broker is registered.",
    ),
    "one broker twice": (
        assigned((0, [1, 1])),
        39,
        "The manual partition assignment includes the broker 1 more than once.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_errors_have_the_code_and_message_of_kafka(case: str) -> None:
    requested, code, message = REFUSED[case]

    async def body(broker: Broker) -> None:
        await broker.make_topic("old.topic")
        for validate_only in (True, False):
            (response,) = await create(broker, requested, validate_only=validate_only)
            assert (response.error_code, response.error_message) == (code, message)
            assert (response.num_partitions, response.topic_id) == (-1, ZERO_UUID)
        assert [known.name for known in broker.services.topics.all()] == ["old.topic"]

    with_broker(body)


@on_cluster
async def test_manual_assignments_are_validated(cluster: Cluster) -> None:
    broker = await cluster.broker(1)
    await cluster.broker(2)
    (made,) = await create(broker, assigned((1, [2, 1]), (0, [1, 2])))
    assert (made.error_code, made.num_partitions, made.replication_factor) == (0, 2, 2)
    uneven = assigned((0, [1, 2]), (1, [1]))
    (response,) = await create(broker, uneven, validate_only=True)
    assert response.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    await broker.services.topic_admin.delete("t", made.topic_id)
    (response,) = await create(broker, uneven)
    assert response.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert response.error_message == (
        "The manual partition assignment includes a partition with 1 replica(s), but this is not "
        "consistent with previous partitions, which have 2 replica(s)."
    )


@on_broker
async def test_duplicate_name_is_refused_once_and_other_topics_are_created(broker: Broker) -> None:
    response = await create(broker, topic("a"), topic("b"), topic("a"), topic("a"))
    assert [(one.name, one.error_code, one.error_message) for one in response] == [
        ("b", 0, None),
        ("a", ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
    ]
    assert broker.services.topics.find("a") is None


@on_broker
async def test_second_of_two_colliding_names_is_refused(broker: Broker) -> None:
    response = await create(broker, topic("a.b"), topic("a_b"))
    assert [one.error_code for one in response] == [0, ErrorCode.INVALID_TOPIC_EXCEPTION]


@on_broker
async def test_too_many_partitions_in_one_request_are_refused(broker: Broker) -> None:
    response = await create(broker, topic("a", 9_999), topic("b", 1), topic("c", 1))
    assert {(one.name, one.error_code, one.error_message) for one in response} == {
        (name, ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
        for name in "abc"
    }
    assert broker.services.topics.all() == []


@on_cluster
async def test_topic_just_created_through_another_broker_already_exists(cluster: Cluster) -> None:
    one, two = await cluster.broker(1), await cluster.broker(2)
    await create(one, topic("t"))
    (response,) = await create(two, topic("t"))
    assert response.error_code == ErrorCode.TOPIC_ALREADY_EXISTS


@on_cluster
async def test_topic_just_deleted_through_another_broker_can_be_created(cluster: Cluster) -> None:
    one, two = await cluster.broker(1), await cluster.broker(2)
    made = await one.make_topic("t")
    await cluster.settle()
    assert two.services.topics.find("t") is not None
    await one.services.topic_admin.delete("t", made.topic_id)
    (response,) = await create(two, topic("t"))
    assert response.error_code == 0
    assert response.topic_id != made.topic_id
