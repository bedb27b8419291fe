"""Administration beside brokers that fail."""

import asyncio
import threading
from contextlib import suppress
from typing import Any

import pytest

from dray.client import Admin, BrokerError, ClientConfig, UnknownTopic, Unreachable
from dray.client.errors import error_name
from dray.client.offsets import EARLIEST, offsets_at
from dray.client.topics import create_topic, ensure_topic, find_topic
from dray.cluster.addresses import Address
from dray.wire import ErrorCode
from dray.wire.apis.create_topics import (
    CREATE_TOPICS,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from dray.wire.apis.list_offsets import LIST_OFFSETS
from dray.wire.apis.metadata import METADATA
from tests.client.scripted_broker import BROKER_ID, HANG_UP, TOPIC, ScriptedBroker, metadata_of, scripted

pytestmark = pytest.mark.slow


def created(error_code: int = 0, message: str | None = None) -> CreateTopicsResponse:
    topic = CreatableTopicResult(name=TOPIC, error_code=error_code, error_message=message, num_partitions=4)
    return CreateTopicsResponse(topics=[topic])


def test_error_names_are_kafkas() -> None:
    from confluent_kafka import KafkaError

    unnamed = "ERR_"
    for code in ErrorCode:
        name = error_name(KafkaError(code.value))
        assert name == code.name or name.startswith(unnamed) or code == ErrorCode.NONE


def test_unavailable_controller_is_retried() -> None:
    broker = ScriptedBroker()
    busy = created(ErrorCode.NOT_CONTROLLER)
    broker.on_each(CREATE_TOPICS.key, [busy, busy, created()])
    with scripted(broker) as admin:
        assert create_topic(admin, TOPIC, 4, {}) == 4
    assert broker.count(CreateTopicsRequest) == 3


def test_change_is_not_repeated_after_a_lost_connection() -> None:
    broker = ScriptedBroker()
    broker.on(CREATE_TOPICS.key, lambda _: HANG_UP)
    with scripted(broker, timeout_s=2) as admin, pytest.raises(Unreachable, match="topic 'scripted': "):
        create_topic(admin, TOPIC, 4, {})
    assert broker.count(CreateTopicsRequest) == 1


def test_refusal_has_the_brokers_message_and_kafkas_error_name() -> None:
    broker = ScriptedBroker()
    broker.on(CREATE_TOPICS.key, lambda _: created(ErrorCode.INVALID_TOPIC_EXCEPTION, "Too bad."))
    with (
        scripted(broker) as admin,
        pytest.raises(
            BrokerError, match=r"^topic 'scripted': Too bad \(INVALID_TOPIC_EXCEPTION\)$"
        ) as raised,
    ):
        create_topic(admin, TOPIC, 4, {})
    assert raised.value.code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_retries_end_at_the_time_limit() -> None:
    broker = ScriptedBroker()
    broker.on(CREATE_TOPICS.key, lambda _: created(ErrorCode.NOT_CONTROLLER))
    with scripted(broker, timeout_s=0.3) as admin, pytest.raises(BrokerError, match="NOT_CONTROLLER"):
        create_topic(admin, TOPIC, 4, {})
    assert broker.count(CreateTopicsRequest) > 1


def test_silent_broker_is_abandoned_at_the_time_limit() -> None:
    broker = ScriptedBroker()
    broker.on(CREATE_TOPICS.key, lambda _: None)
    expected = r"topic 'scripted': no response within 0\.3 s"
    with scripted(broker, timeout_s=0.3) as admin, pytest.raises(Unreachable, match=expected):
        create_topic(admin, TOPIC, 4, {})


def test_unknown_topic_is_retried_only_while_it_may_be_new() -> None:
    broker = ScriptedBroker()
    with scripted(broker) as admin:
        unknown = metadata_of(broker.address, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        broker.on_each(METADATA.key, [unknown, metadata_of(broker.address)])
        with pytest.raises(UnknownTopic, match="there is no such topic or partition"):
            find_topic(admin, TOPIC)
        broker.on_each(METADATA.key, [unknown, unknown, metadata_of(broker.address)])
        assert ensure_topic(admin, TOPIC) == 1


def test_unreachable_leader_is_named_with_its_advertised_address() -> None:
    broker = ScriptedBroker()
    broker.on(LIST_OFFSETS.key, lambda _: None)
    with scripted(broker, timeout_s=1) as admin:
        broker.on(METADATA.key, lambda _: metadata_of(Address("127.0.0.1", 1)))
        reason = f"cannot connect to broker {BROKER_ID} at 127.0.0.1:1, the address it advertises"
        with pytest.raises(BrokerError, match=f"{reason} .Connection refused."):
            offsets_at(admin, TOPIC, [0], EARLIEST)


def test_connecting_to_something_other_than_kafka_fails_at_once() -> None:
    connections: set[asyncio.Task[Any] | None] = set()

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(asyncio.current_task())
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def serve(ready: threading.Event, ended: threading.Event) -> None:
        server = await asyncio.start_server(greet, "127.0.0.1", 0)
        address.append(Address(*server.sockets[0].getsockname()))
        ready.set()
        await asyncio.to_thread(ended.wait)
        server.close()
        await asyncio.gather(*filter(None, connections))  # none may outlive the loop

    address: list[Address] = []
    ready, ended = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(serve(ready, ended)))
    thread.start()
    assert ready.wait(30)
    try:
        with pytest.raises(
            Unreachable, match=f"cannot reach a broker at {address[0]}: .*it speaks HTTP, not Kafka"
        ):
            Admin.connect(ClientConfig(str(address[0]), 60))
    finally:
        ended.set()
        thread.join()
