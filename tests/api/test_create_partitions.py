"""CreatePartitions: new partitions, and errors with Kafka's codes and messages."""

import pytest

from dray.wire import ErrorCode
from dray.wire.apis.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from tests.api.builders import Broker, Cluster, on_broker, on_cluster, with_broker


def grown(name: str, count: int, assignments: list[list[int]] | None = None) -> CreatePartitionsTopic:
    given = None
    if assignments is not None:
        given = [CreatePartitionsAssignment(broker_ids=brokers) for brokers in assignments]
    return CreatePartitionsTopic(name=name, count=count, assignments=given)


async def grow(
    broker: Broker, *topics: CreatePartitionsTopic, validate_only: bool = False, version: int = 3
) -> list[CreatePartitionsTopicResult]:
    request = CreatePartitionsRequest(topics=list(topics), validate_only=validate_only)
    return (await broker.ask(CreatePartitionsResponse, request, version)).results


def count_of(broker: Broker, name: str = "t") -> int:
    topic = broker.services.topics.find(name)
    assert topic is not None
    return len(topic.streams)


@on_broker
async def test_create_partitions_keeps_existing_partitions(broker: Broker) -> None:
    old = await broker.make_topic("t", 2)
    for version in range(4):
        (response,) = await grow(broker, grown("t", 3 + version), version=version)
        assert (response.name, response.error_code, response.error_message) == ("t", 0, None)
    new = broker.services.topics.find("t")
    assert new is not None
    assert new.streams[:2] == old.streams
    assert len(set(new.streams)) == 6
    assert (await broker.services.log.head(new.streams[5])).high_watermark == 0


@on_broker
async def test_validate_only_creates_no_partition(broker: Broker) -> None:
    await broker.make_topic("t")
    (fine,) = await grow(broker, grown("t", 2), validate_only=True)
    (bad,) = await grow(broker, grown("t", 1), validate_only=True)
    assert (fine.error_code, bad.error_code) == (0, ErrorCode.INVALID_PARTITIONS)
    assert count_of(broker) == 1


REFUSED = {
    "as many": (grown("t", 2), 37, "Topic already has 2 partition(s)."),
    "fewer": (grown("t", 1), 37, "The topic t currently has 2 partition(s); 1 would not be an increase."),
    "negative": (
        grown("t", -1),
        37,
        "The topic t currently has 2 partition(s); -1 would not be an increase.",
    ),
    "unknown": (grown("missing", 5), 3, None),
    "no name": (grown("a/b", 5), 3, None),
    "far too many": (grown("t", 10_003), 44, "Unable to perform excessively large batch operation."),
    "too few assignments": (
        grown("t", 4, [[1]]),
        39,
        "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
    ),
    "stranger": (
        grown("t", 3, [[9]]),
        39,
        "The manual partition assignment includes broker 9, but no such broker is registered.",
    ),
    "missing": (grown("t", 3, [[]]), 39, "The manual partition assignment includes an empty replica list."),
}


@pytest.mark.parametrize("case", REFUSED)
def test_errors_have_the_code_and_message_of_kafka(case: str) -> None:
    requested, code, message = REFUSED[case]

    async def body(broker: Broker) -> None:
        await broker.make_topic("t", 2)
        (response,) = await grow(broker, requested)
        assert (response.name, response.error_code, response.error_message) == (requested.name, code, message)
        assert count_of(broker) == 2

    with_broker(body)


@on_broker
async def test_duplicate_topic_name_is_refused(broker: Broker) -> None:
    await broker.make_topic("t")
    await broker.make_topic("u")
    response = await grow(broker, grown("t", 2), grown("u", 2), grown("t", 3))
    assert {(one.name, one.error_code, one.error_message) for one in response} == {
        ("t", ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
        ("u", 0, None),
    }
    assert (count_of(broker, "t"), count_of(broker, "u")) == (1, 2)


@on_cluster
async def test_assignments_are_validated_against_the_current_partition_count(cluster: Cluster) -> None:
    one, two = await cluster.broker(1), await cluster.broker(2)
    await one.make_topic("t")
    (response,) = await grow(two, grown("t", 3, [[1, 2], [2, 1]]))
    assert response.error_code == 0
    (response,) = await grow(one, grown("t", 3))
    assert response.error_message == "Topic already has 3 partition(s)."
