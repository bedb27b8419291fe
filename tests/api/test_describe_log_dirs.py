"""DescribeLogDirs: one directory, sizes of readable records, every partition reported once."""

from dray.wire import ErrorCode
from dray.wire.apis.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from tests.api.builders import Broker, Cluster, on_broker, on_cluster


async def describe(
    broker: Broker, topics: list[tuple[str, list[int]]] | None = None, version: int = 5
) -> DescribeLogDirsResult:
    wanted = None
    if topics is not None:
        wanted = [DescribableLogDirTopic(topic=name, partitions=numbers) for name, numbers in topics]
    request = DescribeLogDirsRequest(topics=wanted)
    answer = await broker.ask(DescribeLogDirsResponse, request, version)
    assert answer.error_code == 0
    (result,) = answer.results
    assert (result.log_dir, result.total_bytes, result.usable_bytes, result.is_cordoned) == (
        "memory:",
        -1,
        -1,
        False,
    )
    return result


def sizes(result: DescribeLogDirsResult) -> dict[tuple[str, int], int]:
    assert result.error_code == 0
    parts = [(topic.name, part) for topic in result.topics for part in topic.partitions]
    assert all((part.offset_lag, part.is_future_key) == (0, False) for _, part in parts)
    return {(name, part.partition_index): part.partition_size for name, part in parts}


@on_broker
async def test_size_of_a_partition_is_that_of_its_readable_records(broker: Broker) -> None:
    topic = await broker.make_topic("t", 2)
    assert sizes(await describe(broker)) == {("t", 0): 0, ("t", 1): 0}
    grown = []
    for _ in range(3):
        await broker.append(topic, "some record")
        grown.append(sizes(await describe(broker))["t", 0])
    one = grown[0]
    assert one > len("some record")
    assert grown == [one, 2 * one, 3 * one]
    await broker.services.log.trim(topic.streams[0], 1)
    assert sizes(await describe(broker)) == {("t", 0): 2 * one, ("t", 1): 0}
    await broker.services.log.trim(topic.streams[0], 3)
    assert sizes(await describe(broker))["t", 0] == 0


@on_broker
async def test_selected_partitions_are_described_in_every_version(broker: Broker) -> None:
    await broker.make_topic("t", 3)
    await broker.make_topic("u")
    for version in range(1, 6):
        requested = [("t", [2, 0, 2]), ("t", [7]), ("missing", [0])]
        assert sorted(sizes(await describe(broker, requested, version))) == [("t", 0), ("t", 2)]
        assert sizes(await describe(broker, [], version)) == {}


@on_cluster
async def test_all_brokers_together_report_each_partition_once(cluster: Cluster) -> None:
    brokers = [await cluster.broker(number) for number in (1, 2)]
    await brokers[0].make_topic("t", 40)
    await cluster.settle()
    response = [set(sizes(await describe(broker))) for broker in brokers]
    assert response[0] | response[1] == {("t", number) for number in range(40)}
    assert not response[0] & response[1]
    assert all(response)


@on_broker
async def test_unavailable_store_is_an_error(broker: Broker) -> None:
    await broker.make_topic("t")
    await broker.services.topic_admin._meta.close()
    result = await describe(broker)
    assert (result.error_code, result.topics) == (ErrorCode.KAFKA_STORAGE_ERROR, [])
