"""DeleteRecords, OffsetForLeaderEpoch and DescribeProducers."""

from dray.wire import ErrorCode
from dray.wire.apis import describe_producers as producers
from dray.wire.apis.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from dray.wire.apis.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.api.builders import PRODUCER_EXPIRY_MS, Broker, Cluster, on_broker, on_cluster


async def delete_before(
    broker: Broker, offset: int, name: str = "t", partition: int = 0, version: int = 2
) -> tuple[int, int]:
    requested = DeleteRecordsPartition(partition_index=partition, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=name, partitions=[requested])])
    (topic,) = (await broker.ask(DeleteRecordsResponse, request, version)).topics
    (response,) = topic.partitions
    assert (topic.name, response.partition_index) == (name, partition)
    return response.low_watermark, response.error_code


@on_broker
async def test_records_before_an_offset_are_deleted(broker: Broker) -> None:
    topic = await broker.make_topic("t")
    for _ in range(5):
        await broker.append(topic)
    assert await delete_before(broker, 2, version=0) == (2, 0)
    assert await delete_before(broker, 1, version=1) == (2, 0), "lower than the start changes nothing"
    assert (await broker.services.log.head(topic.streams[0])).log_start == 2
    assert await delete_before(broker, -1) == (5, 0)
    assert await delete_before(broker, 5) == (5, 0)


@on_broker
async def test_invalid_deletions_of_records_are_refused(broker: Broker) -> None:
    topic = await broker.make_topic("t")
    await broker.append(topic)
    await broker.make_topic("keys", cleanup_policy="compact")
    await broker.make_topic("both", cleanup_policy="compact,delete")
    await broker.make_topic("__consumer_offsets")
    outside = (-1, ErrorCode.OFFSET_OUT_OF_RANGE)
    assert await delete_before(broker, 2) == outside
    assert await delete_before(broker, -2) == outside
    unknown = (-1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert await delete_before(broker, 0, "missing") == unknown
    assert await delete_before(broker, 0, "t", 1) == unknown
    assert await delete_before(broker, 0, "t", -1) == unknown
    assert await delete_before(broker, 0, "keys") == (-1, ErrorCode.POLICY_VIOLATION)
    assert await delete_before(broker, 0, "both") == (0, 0)
    assert await delete_before(broker, 0, "__consumer_offsets") == (-1, ErrorCode.INVALID_TOPIC_EXCEPTION)
    assert (await broker.services.log.head(topic.streams[0])).log_start == 0


async def end_of(
    broker: Broker, epoch: int, name: str = "t", *, known: int = -1, partition: int = 0, version: int = 4
) -> tuple[int, int, int]:
    requested = OffsetForLeaderPartition(partition=partition, current_leader_epoch=known, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=name, partitions=[requested])])
    (topic,) = (await broker.ask(OffsetForLeaderEpochResponse, request, version)).topics
    (response,) = topic.partitions
    assert (topic.topic, response.partition) == (name, partition)
    return response.leader_epoch, response.end_offset, response.error_code


@on_broker
async def test_only_leader_epoch_ends_at_the_high_watermark(broker: Broker) -> None:
    await broker.append(await broker.make_topic("t"), records=3)
    for version in (2, 3, 4):
        assert await end_of(broker, 0, version=version) == (0, 3, 0)
        assert await end_of(broker, 0, known=0, version=version) == (0, 3, 0)


@on_broker
async def test_other_leader_epochs_have_no_end_offset(broker: Broker) -> None:
    await broker.append(await broker.make_topic("t"))
    assert await end_of(broker, 1) == await end_of(broker, -1) == (-1, -1, 0)
    assert await end_of(broker, 0, known=1) == (-1, -1, ErrorCode.UNKNOWN_LEADER_EPOCH)
    assert await end_of(broker, 0, known=-2) == (-1, -1, ErrorCode.FENCED_LEADER_EPOCH)


@on_broker
async def test_leader_epochs_of_an_empty_log_and_of_unknown_partitions(broker: Broker) -> None:
    await broker.make_topic("t")
    assert await end_of(broker, 0) == (0, 0, 0)
    unknown = (-1, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert await end_of(broker, 0, "missing") == await end_of(broker, 0, partition=1) == unknown


async def producers_of(broker: Broker, name: str = "t", partition: int = 0) -> producers.PartitionResponse:
    requested = producers.TopicRequest(name=name, partition_indexes=[partition])
    request = producers.DescribeProducersRequest(topics=[requested])
    (topic,) = (await broker.ask(producers.DescribeProducersResponse, request)).topics
    (response,) = topic.partitions
    assert (topic.name, response.partition_index) == (name, partition)
    return response


@on_cluster
async def test_producers_are_described_whichever_broker_they_wrote_through(cluster: Cluster) -> None:
    one, two = await cluster.broker(1), await cluster.broker(2)
    topic = await one.make_topic("t")
    assert (await producers_of(one)).active_producers == []
    await one.append(topic, producer_id=9, epoch=2, sequence=0, records=3)
    last_ms = cluster.clock.now_ms()
    await cluster.clock.sleep(1)
    await two.append(topic, producer_id=4, epoch=0, sequence=7)
    await two.append(topic, "no producer")
    response = await producers_of(two)
    assert (response.error_code, response.error_message) == (0, None)
    assert response == await producers_of(one)
    assert [
        (one.producer_id, one.producer_epoch, one.last_sequence) for one in response.active_producers
    ] == [
        (4, 0, 7),
        (9, 2, 2),
    ]
    nine = response.active_producers[1]
    assert (nine.last_timestamp, nine.coordinator_epoch, nine.current_txn_start_offset) == (last_ms, -1, -1)
    await cluster.clock.sleep(PRODUCER_EXPIRY_MS / 1000)
    assert (await producers_of(one)).active_producers == []


@on_broker
async def test_producers_of_unknown_partitions_are_errors(broker: Broker) -> None:
    await broker.make_topic("t")
    unknown = "This server does not host this topic-partition."
    response = [await producers_of(broker, *where) for where in (("missing", 0), ("t", 1), ("..", 0))]
    assert [(one.error_code, one.error_message) for one in response] == [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, unknown),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None),
        (ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: '..' is not allowed"),
    ]
