"""DescribeTopicPartitions: partitions in the response, and paging."""

from dray.wire import ZERO_UUID, ErrorCode
from dray.wire.apis.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from tests.api.builders import Broker, on_broker


async def describe(
    broker: Broker, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> DescribeTopicPartitionsResponse:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    return await broker.ask(DescribeTopicPartitionsResponse, request)


def numbers(answer: DescribeTopicPartitionsResponse) -> list[tuple[str | None, list[int]]]:
    return [(topic.name, [one.partition_index for one in topic.partitions]) for topic in answer.topics]


def cursor_of(answer: DescribeTopicPartitionsResponse) -> tuple[str, int] | None:
    found = answer.next_cursor
    return None if found is None else (found.topic_name, found.partition_index)


@on_broker
async def test_only_broker_leads_every_partition(broker: Broker) -> None:
    made = await broker.make_topic("t", 2)
    (topic,) = (await describe(broker, "t")).topics
    assert (topic.name, topic.topic_id, topic.error_code, topic.is_internal) == ("t", made.topic_id, 0, False)
    assert topic.topic_authorized_operations == 3576
    for number, response in enumerate(topic.partitions):
        assert (response.partition_index, response.leader_id, response.leader_epoch, response.error_code) == (
            number,
            1,
            0,
            0,
        )
        assert (response.replica_nodes, response.isr_nodes, response.offline_replicas) == ([1], [1], [])
        assert (response.eligible_leader_replicas, response.last_known_elr) == ([], [])


@on_broker
async def test_without_names_all_topics_are_returned_sorted(broker: Broker) -> None:
    for name in ("b", "c", "a", "__consumer_offsets"):
        await broker.make_topic(name)
    everything = await describe(broker)
    assert [topic.name for topic in everything.topics] == ["__consumer_offsets", "a", "b", "c"]
    assert [topic.is_internal for topic in everything.topics] == [True, False, False, False]
    assert [topic.name for topic in (await describe(broker, "c", "a", "c")).topics] == ["a", "c"]


@on_broker
async def test_missing_topics_are_unknown(broker: Broker) -> None:
    await broker.make_topic("t")
    response = (await describe(broker, "missing", "t", "not/a name")).topics
    assert [(topic.name, topic.error_code) for topic in response] == [
        ("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("not/a name", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("t", 0),
    ]
    assert response[0].topic_id == response[1].topic_id == ZERO_UUID


@on_broker
async def test_pages_add_up_to_all_partitions(broker: Broker) -> None:
    for name, partitions in (("a", 3), ("b", 1), ("c", 4)):
        await broker.make_topic(name, partitions)
    for names in ((), ("a", "b", "c")):
        for limit in range(1, 10):
            seen: list[tuple[str | None, int]] = []
            cursor: tuple[str, int] | None = None
            while True:
                page = await describe(broker, *names, limit=limit, cursor=cursor)
                found = [(name, number) for name, partitions in numbers(page) for number in partitions]
                assert len(found) <= limit
                seen += found
                cursor = cursor_of(page)
                if cursor is None:
                    break
            assert seen == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("c", 0), ("c", 1), ("c", 2), ("c", 3)]


@on_broker
async def test_cursor_is_the_first_partition_of_the_next_page(broker: Broker) -> None:
    await broker.make_topic("a", 2)
    await broker.make_topic("b", 2)
    inside = await describe(broker, limit=3)
    assert (numbers(inside), cursor_of(inside)) == ([("a", [0, 1]), ("b", [0])], ("b", 1))
    between = await describe(broker, limit=2)
    assert (numbers(between), cursor_of(between)) == ([("a", [0, 1])], ("b", 0))
    least = await describe(broker, limit=0)
    assert (numbers(least), cursor_of(least)) == ([("a", [0])], ("a", 1))


@on_broker
async def test_page_has_at_most_2000_partitions(broker: Broker) -> None:
    await broker.make_topic("a", 2001)
    page = await describe(broker, limit=5000)
    assert (len(page.topics[0].partitions), cursor_of(page)) == (2000, ("a", 2000))


@on_broker
async def test_cursor_after_the_last_partition_or_at_a_deleted_topic(broker: Broker) -> None:
    await broker.make_topic("a", 2)
    await broker.make_topic("c", 1)
    assert numbers(await describe(broker, cursor=("a", 7))) == [("a", []), ("c", [0])]
    assert numbers(await describe(broker, cursor=("b", 3))) == [("c", [0])]


@on_broker
async def test_invalid_cursor_fails_the_request(broker: Broker) -> None:
    await broker.make_topic("a")
    for names, cursor in ((("a", "b"), ("c", 0)), (("a", "b"), ("a", -1))):
        answer = await describe(broker, *names, cursor=cursor)
        assert [(topic.name, topic.error_code) for topic in answer.topics] == [
            (name, ErrorCode.INVALID_REQUEST) for name in names
        ]
        assert answer.next_cursor is None
    assert (await describe(broker, cursor=("a", -1))).topics == []
