"""DescribeTopicPartitions: what a partition is shown as, and paging through all of them."""

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
async def test_a_partition_is_led_by_the_one_broker_there_is(broker: Broker) -> None:
    made = await broker.make_topic("t", 2)
    (topic,) = (await describe(broker, "t")).topics
    assert (topic.name, topic.topic_id, topic.error_code, topic.is_internal) == ("t", made.topic_id, 0, False)
    assert topic.topic_authorized_operations == 3576
    for number, told in enumerate(topic.partitions):
        assert (told.partition_index, told.leader_id, told.leader_epoch, told.error_code) == (number, 1, 0, 0)
        assert (told.replica_nodes, told.isr_nodes, told.offline_replicas) == ([1], [1], [])
        assert (told.eligible_leader_replicas, told.last_known_elr) == ([], [])


@on_broker
async def test_no_names_means_all_and_names_are_sorted(broker: Broker) -> None:
    for name in ("b", "c", "a", "__consumer_offsets"):
        await broker.make_topic(name)
    everything = await describe(broker)
    assert [topic.name for topic in everything.topics] == ["__consumer_offsets", "a", "b", "c"]
    assert [topic.is_internal for topic in everything.topics] == [True, False, False, False]
    assert [topic.name for topic in (await describe(broker, "c", "a", "c")).topics] == ["a", "c"]


@on_broker
async def test_what_is_not_there(broker: Broker) -> None:
    await broker.make_topic("t")
    told = (await describe(broker, "nobody", "t", "not/a name")).topics
    assert [(topic.name, topic.error_code) for topic in told] == [
        ("nobody", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("not/a name", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("t", 0),
    ]
    assert told[0].topic_id == told[1].topic_id == ZERO_UUID


@on_broker
async def test_pages_join_to_the_whole(broker: Broker) -> None:
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
async def test_the_cursor_names_the_first_partition_left_out(broker: Broker) -> None:
    await broker.make_topic("a", 2)
    await broker.make_topic("b", 2)
    inside = await describe(broker, limit=3)
    assert (numbers(inside), cursor_of(inside)) == ([("a", [0, 1]), ("b", [0])], ("b", 1))
    between = await describe(broker, limit=2)
    assert (numbers(between), cursor_of(between)) == ([("a", [0, 1])], ("b", 0))
    least = await describe(broker, limit=0)
    assert (numbers(least), cursor_of(least)) == ([("a", [0])], ("a", 1))


@on_broker
async def test_one_page_has_2000_partitions_at_most(broker: Broker) -> None:
    await broker.make_topic("a", 2001)
    page = await describe(broker, limit=5000)
    assert (len(page.topics[0].partitions), cursor_of(page)) == (2000, ("a", 2000))


@on_broker
async def test_a_cursor_behind_the_last_partition_or_at_a_topic_that_is_gone(broker: Broker) -> None:
    await broker.make_topic("a", 2)
    await broker.make_topic("c", 1)
    assert numbers(await describe(broker, cursor=("a", 7))) == [("a", []), ("c", [0])]
    assert numbers(await describe(broker, cursor=("b", 3))) == [("c", [0])]


@on_broker
async def test_a_bad_cursor_spoils_the_request(broker: Broker) -> None:
    await broker.make_topic("a")
    for names, cursor in ((("a", "b"), ("c", 0)), (("a", "b"), ("a", -1))):
        answer = await describe(broker, *names, cursor=cursor)
        assert [(topic.name, topic.error_code) for topic in answer.topics] == [
            (name, ErrorCode.INVALID_REQUEST) for name in names
        ]
        assert answer.next_cursor is None
    assert (await describe(broker, cursor=("a", -1))).topics == []
