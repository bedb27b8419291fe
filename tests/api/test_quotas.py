"""Client quotas on a broker: what is counted, how long clients are throttled, what is still done for them."""

from dataclasses import replace
from typing import Any, cast

import pytest

from dray.api.client_limits import LimitsOfClients
from dray.api.dispatch import SERVED
from dray.ids import StreamId
from dray.log import Log
from dray.quotas import CLIENT_ID, USER, Entity, QuotaKey
from dray.records import ValidBatch
from dray.runtime import Clock
from dray.testing import EmbeddedBroker
from dray.wire import LENGTH_BYTES, ErrorCode
from dray.wire.apis.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryDataRequest,
    OpData,
)
from dray.wire.apis.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from dray.wire.apis.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from dray.wire.apis.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from dray.wire.apis.fetch import FETCH, FetchResponse
from dray.wire.apis.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from dray.wire.apis.produce import PRODUCE, ProduceResponse
from tests.api.builders import PEER, Broker, Cluster, on_broker, on_cluster, smallest_request
from tests.oracle.batches import batch
from tests.oracle.request_client import RequestClient, frame_of, request_client
from tests.oracle.requests import Named, fetch, part, produce

PRODUCED, FETCHED = QuotaKey.PRODUCER_BYTE_RATE, QuotaKey.CONSUMER_BYTE_RATE
PROCESSING, MUTATIONS = QuotaKey.REQUEST_PERCENTAGE, QuotaKey.CONTROLLER_MUTATION_RATE
LIMITED = Entity.of({CLIENT_ID: "limited"})
ALL_USERS = Entity.of({USER: None})
TEN_SECONDS_MS = 10_000
_FETCH_VERSION = 17


async def limit(broker: Broker, key: QuotaKey, value: float | None, entity: Entity = LIMITED) -> None:
    await broker.services.quotas.alter(entity, lambda _: {} if value is None else {key: value})


async def made(broker: Broker, name: str = "t", partitions: int = 1) -> Named:
    topic = await broker.make_topic(name, partitions)
    return Named(name, topic.topic_id)


async def fetched(broker: Broker, topic: Named, client_id: str = "test") -> FetchResponse:
    return await broker.ask(FetchResponse, fetch(topic, part()), _FETCH_VERSION, client_id=client_id)


def throttle_ms(value: float, limit: float) -> int:
    """Return Kafka's throttle time for the first value of a client."""
    rate = value / 10
    return round((rate - limit) / limit * TEN_SECONDS_MS)


def metric(broker: Broker, name: str, quota: QuotaKey) -> float:
    return broker.api_metrics.registry.get_sample_value(name, {"quota": quota}) or 0.0


@on_broker
async def test_without_quotas_of_clients_nothing_is_looked_up(broker: Broker) -> None:
    await limit(broker, QuotaKey.CONNECTION_CREATION_RATE, 1.0, Entity.of({"ip": None}))
    broker._dispatcher._throttling = None  # type: ignore[assignment]
    topic = await made(broker)
    answer = await broker.ask(ProduceResponse, produce(topic, batch(b"x" * 5_000)))
    assert answer.throttle_time_ms == 0
    assert broker.muted == []


@on_broker
async def test_produce_above_the_limit_is_stored_and_throttled(broker: Broker) -> None:
    topic = await made(broker)
    await limit(broker, PRODUCED, 100.0)
    request = produce(topic, batch(b"x" * 5_000))
    answer = await broker.ask(ProduceResponse, request, client_id="limited")
    expected = throttle_ms(len(frame_of(request, 13, "limited")), 100)
    assert expected > 40_000
    assert answer.throttle_time_ms == expected
    assert answer.responses[0].partition_responses[0].error_code == 0
    assert broker.muted == [expected / 1000]
    assert metric(broker, "dray_api_throttled_requests_total", PRODUCED) == 1
    assert metric(broker, "dray_api_throttle_seconds_total", PRODUCED) == expected / 1000
    read = await fetched(broker, topic)
    assert read.responses[0].partitions[0].high_watermark == 1


@on_broker
async def test_within_the_limit_and_for_others_nothing_is_throttled(broker: Broker) -> None:
    topic = await made(broker)
    await limit(broker, PRODUCED, 100.0)
    small, large = produce(topic, batch(b"x" * 100)), produce(topic, batch(b"x" * 5_000))
    assert (await broker.ask(ProduceResponse, small, client_id="limited")).throttle_time_ms == 0
    assert (await broker.ask(ProduceResponse, large, client_id="other")).throttle_time_ms == 0
    assert broker.muted == []


@on_broker
async def test_client_is_within_its_limit_after_the_throttle_time(broker: Broker) -> None:
    topic = await made(broker)
    await limit(broker, PRODUCED, 1_000.0)
    request = produce(topic, batch(b"x" * 10_300))
    first = await broker.ask(ProduceResponse, request, client_id="limited")
    assert 300 < first.throttle_time_ms < 700
    await broker.services.clock.sleep(first.throttle_time_ms / 1000)
    small = produce(topic, batch(b"x"))
    second = await broker.ask(ProduceResponse, small, client_id="limited")
    assert second.throttle_time_ms == pytest.approx(len(frame_of(small, 13, "limited")), abs=2)


@on_broker
async def test_request_before_authentication_does_not_throttle_the_anonymous_user(broker: Broker) -> None:
    """On a connection that must authenticate only ApiVersions is possible; what limits it is the same."""
    topic = await made(broker)
    await limit(broker, PRODUCED, 100.0, Entity.of({USER: "ANONYMOUS"}))
    request = produce(topic, batch(b"x" * 5_000))
    for peer, throttled in ((PEER._replace(authenticates=True), 0), (PEER, 1)):
        await broker._answer(PRODUCE, PRODUCE.highest, request, "test", peer)
        assert len(broker.muted) == throttled


@on_broker
async def test_produce_without_a_response_only_mutes_the_connection(broker: Broker) -> None:
    topic = await made(broker)
    await limit(broker, PRODUCED, 100.0)
    request = produce(topic, batch(b"x" * 5_000), acks=0)
    await broker.send_silently(request, client_id="limited")
    assert broker.muted == [throttle_ms(len(frame_of(request, 13, "limited")), 100) / 1000]


@on_broker
async def test_fetch_above_the_limit_is_answered_empty_and_does_not_count(broker: Broker) -> None:
    topic = await made(broker)
    await broker.ask(ProduceResponse, produce(topic, batch(b"x" * 5_000)))
    whole = await fetched(broker, topic)
    buffers = await broker._answer(FETCH, _FETCH_VERSION, fetch(topic, part()), "test")
    size = len(b"".join(buffers or ())) - LENGTH_BYTES - 1
    await limit(broker, FETCHED, 100.0)
    answer = await fetched(broker, topic, "limited")
    assert answer == FetchResponse(throttle_time_ms=throttle_ms(size, 100))
    assert broker.muted == [answer.throttle_time_ms / 1000]
    again = await fetched(broker, topic, "limited")
    assert again.throttle_time_ms == pytest.approx(answer.throttle_time_ms, abs=100), "it did not count"
    await limit(broker, FETCHED, 10_000.0)
    allowed = await fetched(broker, topic, "limited")
    assert allowed == whole


@on_broker
async def test_fetch_returns_no_more_than_the_limit_allows_in_ten_seconds(broker: Broker) -> None:
    topic = await made(broker)
    for _ in range(10):
        await broker.ask(ProduceResponse, produce(topic, batch(b"x" * 1_000)))
    await limit(broker, FETCHED, 500.0)
    answer = await fetched(broker, topic, "limited")
    records = answer.responses[0].partitions[0].records
    assert 3_000 < len(b"".join(records or ())) <= 5_000
    assert answer.throttle_time_ms == 0


@on_broker
async def test_limit_of_a_user_is_shared_by_its_clients(broker: Broker) -> None:
    topic = await made(broker)
    await limit(broker, PRODUCED, 1_000.0, ALL_USERS)
    request = produce(topic, batch(b"x" * 6_000))
    first, second = [await broker.ask(ProduceResponse, request, client_id=name) for name in ("a", "b")]
    assert first.throttle_time_ms == 0
    assert second.throttle_time_ms > 1_000


@on_broker
async def test_change_of_a_limit_applies_to_the_next_request_and_keeps_what_was_counted(
    broker: Broker,
) -> None:
    topic = await made(broker)
    request = produce(topic, batch(b"x" * 5_000))

    async def throttled() -> int:
        return (await broker.ask(ProduceResponse, request, client_id="limited")).throttle_time_ms

    await limit(broker, PRODUCED, 100_000.0)
    assert await throttled() == 0
    await limit(broker, PRODUCED, 100.0)
    size = len(frame_of(request, 13, "limited"))
    assert await throttled() == pytest.approx(throttle_ms(2 * size, 100), abs=100)
    await limit(broker, PRODUCED, None)
    assert await throttled() == 0


@on_cluster
async def test_every_broker_enforces_the_limit_by_itself(cluster: Cluster) -> None:
    first, second = await cluster.broker(1), await cluster.broker(2)
    topic = await made(first)
    await limit(first, PRODUCED, 1_000.0)
    await cluster.settle()
    request = produce(topic, batch(b"x" * 6_000))
    for broker in (first, second):
        answer = await broker.ask(ProduceResponse, request, client_id="limited")
        assert answer.throttle_time_ms == 0
    assert (await second.ask(ProduceResponse, request, client_id="limited")).throttle_time_ms > 0


# Time of the event loop


class AdvancingClock:
    """The clock of a broker, which work advances."""

    def __init__(self, base: Clock) -> None:
        self._base = base
        self.worked = 0.0

    def now_ms(self) -> int:
        return self._base.now_ms()

    def monotonic(self) -> float:
        return self._base.monotonic() + self.worked

    async def sleep(self, seconds: float) -> None:
        await self._base.sleep(seconds)


class BusyLog:
    """A log in which every append works for three seconds, and waits for as long."""

    def __init__(self, log: Log, clock: AdvancingClock) -> None:
        self._log = log
        self._clock = clock

    def try_append(self, _stream: StreamId, _batch: ValidBatch, *, together_bytes: int) -> None:
        """Have no memory to spare, so that the batch waits."""
        del together_bytes

    async def append(self, stream: StreamId, batch: ValidBatch, *, together_bytes: int) -> Any:
        self._clock.worked += 1
        await self._clock.sleep(3)
        self._clock.worked += 2
        return await self._log.append(stream, batch, together_bytes=together_bytes)


def busy(broker: Broker) -> Broker:
    clock = AdvancingClock(broker.services.clock)
    log = cast("Log", BusyLog(broker.services.log, clock))
    services = replace(broker.services, clock=clock, log=log)
    return Broker(services, broker.tasks, broker.registration)


@on_broker
async def test_time_of_the_event_loop_is_counted_and_the_throttle_time_is_a_second_at_most(
    broker: Broker,
) -> None:
    topic = await made(broker)
    await limit(broker, PROCESSING, 50.0)
    slow = busy(broker)
    request = produce(topic, batch(b"x"))
    first = await slow.ask(ProduceResponse, request, client_id="limited")
    assert first.throttle_time_ms == 0, "300 % of a second are 30 % of ten; waiting does not count"
    second = await slow.ask(ProduceResponse, request, client_id="limited")
    assert second.throttle_time_ms == 1_000, "60 %, which would be two seconds"
    assert second.responses[0].partition_responses[0].error_code == 0
    assert slow.muted == [1.0]
    assert metric(slow, "dray_api_throttled_requests_total", PROCESSING) == 1


@on_broker
async def test_time_of_a_produce_without_a_response_is_not_limited(broker: Broker) -> None:
    topic = await made(broker)
    await limit(broker, PROCESSING, 0.1)
    slow = busy(broker)
    await slow.send_silently(produce(topic, batch(b"x"), acks=0), client_id="limited")
    assert slow.muted == []
    await slow.ask(ProduceResponse, produce(topic, batch(b"x")), client_id="limited")
    assert slow.muted == [1.0]


def test_time_of_every_api_is_counted(client: RequestClient, embedded: EmbeddedBroker) -> None:
    """On a real broker and real time: hardly any time is allowed."""
    entity = [EntityData(entity_type=CLIENT_ID, entity_name="no time")]
    request = AlterClientQuotasRequest(
        entries=[EntryDataRequest(entity=entity, ops=[OpData(key=PROCESSING, value=1e-6)])]
    )
    assert client.send(request, AlterClientQuotasResponse).entries[0].error_code == 0
    for served in SERVED.values():
        if "throttle_time_ms" not in served.api.response.__struct_fields__ or served.api is PRODUCE:
            continue
        with request_client((embedded.host, embedded.port)) as another:
            answer: Any = another.send(smallest_request(served.api), served.api.response, client_id="no time")
        assert answer.throttle_time_ms == 1_000, served.api.name


# Mutations: 11 partitions at once, then one a second


def creation(name: str, partitions: int = 1, *, validate_only: bool = False) -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    return CreateTopicsRequest(topics=[topic], validate_only=validate_only)


def _grown(name: str, count: int) -> CreatePartitionsTopic:
    return CreatePartitionsTopic(name=name, count=count, assignments=None)


async def used_up(broker: Broker) -> None:
    """Let the client create more partitions than it may at once."""
    await limit(broker, MUTATIONS, 1.0)
    answer = await broker.ask(CreateTopicsResponse, creation("first", 13), client_id="limited")
    assert (answer.topics[0].error_code, answer.throttle_time_ms) == (0, 0)


@on_broker
async def test_topics_above_the_limit_are_not_created(broker: Broker) -> None:
    await used_up(broker)
    answer = await broker.ask(CreateTopicsResponse, creation("second"), client_id="limited")
    (topic,) = answer.topics
    assert topic.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert topic.error_message is None
    assert answer.throttle_time_ms == pytest.approx(2_000, abs=50)
    assert broker.muted == [answer.throttle_time_ms / 1000]
    assert broker.services.topics.find("second") is None
    await broker.services.clock.sleep(2.1)
    answer = await broker.ask(CreateTopicsResponse, creation("second"), client_id="limited")
    assert (answer.topics[0].error_code, answer.throttle_time_ms) == (0, 0)


@on_broker
async def test_older_versions_are_throttled_and_do_it_nevertheless(broker: Broker) -> None:
    await used_up(broker)
    answer = await broker.ask(CreateTopicsResponse, creation("second", 3), 5, client_id="limited")
    assert answer.topics[0].error_code == 0
    assert answer.throttle_time_ms == pytest.approx(5_000, abs=50)
    grown = CreatePartitionsRequest(topics=[_grown("second", 5)])
    more = await broker.ask(CreatePartitionsResponse, grown, 2, client_id="limited")
    assert more.results[0].error_code == 0
    assert more.throttle_time_ms == pytest.approx(7_000, abs=50)
    gone = await broker.ask(
        DeleteTopicsResponse, DeleteTopicsRequest(topic_names=["second"]), 4, client_id="limited"
    )
    assert gone.responses[0].error_code == 0
    assert gone.throttle_time_ms == pytest.approx(12_000, abs=50)


@on_broker
async def test_partitions_above_the_limit_are_neither_added_nor_deleted(broker: Broker) -> None:
    await used_up(broker)
    grown = CreatePartitionsRequest(topics=[_grown("first", 14)])
    more = await broker.ask(CreatePartitionsResponse, grown, 3, client_id="limited")
    gone = await broker.ask(
        DeleteTopicsResponse, DeleteTopicsRequest(topic_names=["first"]), 5, client_id="limited"
    )
    codes = {more.results[0].error_code, gone.responses[0].error_code}
    assert codes == {ErrorCode.THROTTLING_QUOTA_EXCEEDED}
    topic = broker.services.topics.find("first")
    assert topic is not None
    assert len(topic.streams) == 13


@on_broker
async def test_validation_counts_as_in_kafka(broker: Broker) -> None:
    await limit(broker, MUTATIONS, 1.0)
    await broker.ask(CreateTopicsResponse, creation("a", 13, validate_only=True), client_id="limited")
    answer = await broker.ask(CreateTopicsResponse, creation("b"), client_id="limited")
    assert answer.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED


@on_broker
async def test_topic_above_the_limit_is_not_created_automatically(broker: Broker) -> None:
    await used_up(broker)
    request = MetadataRequest(topics=[MetadataRequestTopic(name="second")], allow_auto_topic_creation=True)
    answer = await broker.ask(MetadataResponse, request, client_id="limited")
    assert answer.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert answer.throttle_time_ms == 0
    other = await broker.ask(MetadataResponse, request, client_id="other")
    assert other.topics[0].error_code == 0


# What is remembered


@on_broker
async def test_usage_that_does_not_matter_is_forgotten(broker: Broker) -> None:
    clients = LimitsOfClients(broker.services.quotas, broker.services.clock)
    await limit(broker, PRODUCED, 1.0, Entity.of({CLIENT_ID: None}))
    await limit(broker, MUTATIONS, 1.0, ALL_USERS)
    for number in range(100):
        assert clients.of("user", f"client {number}") is not None
    busy = clients.of("user", "busy")
    assert busy is not None
    assert busy.mutations is not None
    busy.mutations.bucket.spend(100, 1.0, clients.now_ms())
    clients.forget_unused()
    assert (len(clients._clients), len(clients._windows), len(clients._buckets)) == (0, 0, 1)
    known = clients.of("user", "busy")
    assert known is not None
    assert known.mutations == busy.mutations
    await broker.services.clock.sleep(120)
    clients.forget_unused()
    assert (len(clients._clients), len(clients._windows), len(clients._buckets)) == (0, 0, 0)


@on_broker
async def test_number_of_remembered_clients_is_bounded(broker: Broker) -> None:
    clients = LimitsOfClients(broker.services.quotas, broker.services.clock)
    for number in range(25_000):
        assert clients.of("user", str(number)) is None
    assert len(clients._clients) <= 10_000
