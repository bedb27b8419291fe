"""The small client, against brokers that misbehave."""

import asyncio

import pytest

from dray.cli.addresses import Address, parse_bootstrap
from dray.cli.client.connection import Connection
from dray.cli.client.errors import (
    Lost,
    NotKafka,
    NotNow,
    NotServed,
    Refused,
    UnknownTopic,
    Unreachable,
    raise_for,
)
from dray.cli.client.topic_admin import create_topic
from dray.cli.client.versions import Versions
from dray.runtime import Tasks
from dray.wire import ErrorCode
from dray.wire.apis.api_versions import ApiVersion
from dray.wire.apis.create_topics import (
    CREATE_TOPICS,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from dray.wire.apis.fetch import FETCH
from dray.wire.apis.metadata import METADATA, MetadataRequest
from dray.wire.apis.produce import PRODUCE
from tests.cli.scripted_broker import (
    BROKER_ID,
    HANG_UP,
    TOPIC,
    ScriptedBroker,
    metadata_of,
    scripted_cluster,
)


def test_the_highest_common_version_is_spoken() -> None:
    served = Versions(
        [
            ApiVersion(api_key=PRODUCE.key, min_version=0, max_version=5),
            ApiVersion(api_key=FETCH.key, min_version=1, max_version=99),
            ApiVersion(api_key=METADATA.key, min_version=50, max_version=60),
        ]
    )
    assert served.best(PRODUCE) == 5
    assert served.best(FETCH) == FETCH.highest
    with pytest.raises(NotServed, match="Metadata in versions 50 to 60, this command speaks 0 to 13"):
        served.best(METADATA)
    with pytest.raises(NotServed, match="does not serve CreateTopics"):
        served.best(CREATE_TOPICS)


def test_addresses() -> None:
    assert parse_bootstrap("a:1, [::1]:2") == (Address("a", 1), Address("::1", 2))
    assert str(Address("::1", 2)) == "[::1]:2"
    for wrong in ["", "a", "a:", ":1", "a:0", "a:65536", "a:x", "::1:2", "a:1,"]:
        with pytest.raises(ValueError, match="expected"):
            parse_bootstrap(wrong)


def test_codes_are_sorted_by_what_to_do() -> None:
    raise_for(0, "nothing")
    with pytest.raises(NotNow, match="x: NOT_LEADER_OR_FOLLOWER"):
        raise_for(ErrorCode.NOT_LEADER_OR_FOLLOWER, "x")
    with pytest.raises(UnknownTopic, match="no such topic"):
        raise_for(ErrorCode.UNKNOWN_TOPIC_ID, "x")
    with pytest.raises(Refused, match=r"x: too bad \(INVALID_CONFIG\)"):
        raise_for(ErrorCode.INVALID_CONFIG, "x", "too bad.")
    with pytest.raises(Refused, match="error 4242"):
        raise_for(4242, "x")


async def test_what_the_broker_cannot_do_now_is_asked_again() -> None:
    broker = ScriptedBroker()
    busy = CreateTopicsResponse(topics=[CreatableTopicResult(error_code=ErrorCode.NOT_CONTROLLER)])
    done = CreateTopicsResponse(topics=[CreatableTopicResult(num_partitions=4)])
    broker.on_each(CREATE_TOPICS.key, [busy, busy, done])
    async with scripted_cluster(broker) as cluster:
        assert await create_topic(cluster, "t", 4, {}) == 4
    assert broker.requests(CreateTopicsRequest) == 3


async def test_a_change_is_not_repeated_when_nobody_knows_whether_it_happened() -> None:
    broker = ScriptedBroker()
    broker.on(CREATE_TOPICS.key, lambda _: HANG_UP)
    async with scripted_cluster(broker) as cluster:
        with pytest.raises(Lost, match="closed the connection"):
            await create_topic(cluster, "t", 4, {})
    assert broker.requests(CreateTopicsRequest) == 1


async def test_a_lost_connection_is_made_again() -> None:
    broker = ScriptedBroker()
    async with scripted_cluster(broker) as cluster:
        broker.on_each(METADATA.key, [HANG_UP, HANG_UP, metadata_of(broker.address)])
        layout = await cluster.layout(TOPIC)
    assert layout.leaders == (BROKER_ID,)
    assert broker.requests(MetadataRequest) == 3


async def test_trying_again_ends_at_the_time_limit() -> None:
    broker = ScriptedBroker()
    async with scripted_cluster(broker, timeout_s=0.3) as cluster:
        broker.on(METADATA.key, lambda _: metadata_of(broker.address, ErrorCode.LEADER_NOT_AVAILABLE))
        with pytest.raises(NotNow, match="LEADER_NOT_AVAILABLE"):
            await cluster.layout(TOPIC)
    assert broker.requests(MetadataRequest) > 1


async def test_a_silent_broker_is_left_at_the_time_limit() -> None:
    broker = ScriptedBroker()
    async with scripted_cluster(broker, timeout_s=0.2) as cluster:
        broker.on(METADATA.key, lambda _: None)
        with pytest.raises(Lost, match=r"did not answer within 0\.2 s"):
            await cluster.metadata(None)


async def test_an_unknown_topic_is_waited_for_only_where_it_may_be_made() -> None:
    broker = ScriptedBroker()
    async with scripted_cluster(broker) as cluster:
        unknown = metadata_of(broker.address, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        broker.on_each(METADATA.key, [unknown, metadata_of(broker.address)])
        with pytest.raises(UnknownTopic):
            await cluster.layout(TOPIC)
        broker.on_each(METADATA.key, [unknown, unknown, metadata_of(broker.address)])
        assert (await cluster.layout(TOPIC, create=True)).leaders == (BROKER_ID,)


async def test_a_leader_at_an_address_that_cannot_be_reached_is_told() -> None:
    broker = ScriptedBroker()
    async with scripted_cluster(broker) as cluster:
        broker.on(METADATA.key, lambda _: metadata_of(Address("127.0.0.1", 1)))
        await cluster.layout(TOPIC)
        told = f"cannot reach broker {BROKER_ID} at 127.0.0.1:1, the address it advertises"
        with pytest.raises(Unreachable, match=f"{told} .Connection refused."):
            await cluster.broker(BROKER_ID)
        with pytest.raises(Unreachable, match="broker 99 is not among the live ones"):
            await cluster.broker(99)


async def test_something_that_does_not_speak_kafka_is_told() -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    address = Address(*server.sockets[0].getsockname())
    tasks = Tasks()
    with pytest.raises(NotKafka, match=f"what answers at {address} does not speak Kafka: a frame of"):
        await Connection.open(address, tasks, 10)
    await tasks.stop()
    server.close()
