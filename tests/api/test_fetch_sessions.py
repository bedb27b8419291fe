"""Fetch sessions on brokers with shared stores: freshness, what is read, changes around a session, limits.

What a single broker answers is compared with Kafka's in tests/oracle.
"""

import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from dray.acls import (
    AclBinding,
    AclEntry,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from dray.api.settings import KafkaSettings
from dray.cluster.settings import SecuritySettings
from dray.log import Log
from dray.wire import ErrorCode as E
from dray.wire.apis.delete_records import DeleteRecordsResponse
from dray.wire.apis.fetch import FetchPartition, FetchResponse, ForgottenTopic, PartitionData
from dray.wire.apis.produce import ProduceResponse
from tests.api.builders import Broker, Cluster, on_broker, on_cluster
from tests.oracle.batches import batch
from tests.oracle.requests import Named, fetch, part, produce
from tests.oracle.scenarios.records import delete

DENIED = AclBinding(
    ResourcePattern(ResourceType.TOPIC, "t", PatternType.LITERAL),
    AclEntry("User:ANONYMOUS", "*", Operation.READ, Permission.DENY),
)
ANY_ACL = AclFilter()
EVICTION_MS = 1_000


class Client:
    """A client of one broker, with one session."""

    def __init__(self, broker: Broker, topic: Named) -> None:
        self.broker = broker
        self.topic = topic
        self.number = 0
        self.epoch = 0

    async def ask(
        self, *parts: FetchPartition, max_wait_ms: int = 0, forget: Sequence[int] = ()
    ) -> FetchResponse:
        """Send the next request of the session; the first opens it."""
        request = fetch(self.topic, *parts, session=(self.number, self.epoch), max_wait_ms=max_wait_ms)
        if not parts:
            request = replace(request, topics=[])
        if forget:
            forgotten = ForgottenTopic(topic_id=self.topic.topic_id, partitions=list(forget))
            request = replace(request, forgotten_topics_data=[forgotten])
        self.epoch += 1
        reply = await self.broker.ask(FetchResponse, request, 17)
        self.number = reply.session_id
        return reply

    async def news(
        self, *parts: FetchPartition, max_wait_ms: int = 0, forget: Sequence[int] = ()
    ) -> dict[int, PartitionData]:
        reply = await self.ask(*parts, max_wait_ms=max_wait_ms, forget=forget)
        assert reply.error_code == E.NONE
        return {one.partition_index: one for topic in reply.responses for one in topic.partitions}


async def topic_of(broker: Broker, partitions: int = 3, name: str = "t") -> Named:
    made = await broker.make_topic(name, partitions)
    return Named(made.name, made.topic_id)


async def append(broker: Broker, topic: Named, partition: int = 0) -> None:
    reply = await broker.ask(ProduceResponse, produce(topic, batch(), partition=partition))
    assert reply.responses[0].partition_responses[0].error_code == E.NONE


async def opened(broker: Broker, topic: Named, partitions: int = 3) -> Client:
    """Return a client whose session is at the end of empty partitions."""
    client = Client(broker, topic)
    found = await client.news(*(part(partition=number) for number in range(partitions)))
    assert sorted(found) == list(range(partitions))
    assert client.number > 0
    return client


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The streams that fetches read."""
    found: list[int] = []
    original = Log.read

    async def read(self: Log, stream: int, *args: object, **named: object) -> object:
        found.append(stream)
        return await original(self, stream, *args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Log, "read", read)
    return found


@pytest.mark.parametrize("partitions", [3, 20])
def test_records_acknowledged_by_another_broker_are_seen_at_once(partitions: int) -> None:
    """Without waiting, and before the watch has reported them; streams are read, or the watch is synced."""

    @on_cluster
    async def body(cluster: Cluster) -> None:
        one, two = await cluster.broker(1), await cluster.broker(2)
        topic = await topic_of(one, partitions)
        await cluster.settle()
        client = await opened(two, topic, partitions)
        for number in range(40):
            partition = number * 7 % partitions
            await append(one, topic, partition)
            found = await client.news()
            assert list(found) == [partition]
            assert found[partition].records
            await client.news(part(found[partition].high_watermark, partition=partition))

    body()


@on_cluster
async def test_records_are_seen_while_the_watch_is_broken(cluster: Cluster) -> None:
    one, two = await cluster.broker(1), await cluster.broker(2)
    topic = await topic_of(one, 20)
    await cluster.settle()
    client = await opened(two, topic, 20)
    two.services.log._domains[0].heads._lose()
    await append(one, topic, 1)
    assert list(await client.news()) == [1]


def test_partitions_without_changes_are_not_read(reads: list[int]) -> None:
    @on_broker
    async def body(broker: Broker) -> None:
        topic = await topic_of(broker, 50)
        client = await opened(broker, topic, 50)
        reads.clear()
        assert await client.news(max_wait_ms=500) == {}
        assert reads == []
        await append(broker, topic, 7)
        assert list(await client.news()) == [7]
        assert len(reads) == 1
        await client.news(part(1, partition=7))
        reads.clear()
        assert await client.news() == {}
        assert reads == []

    body()


@on_broker
async def test_append_wakes_a_waiting_session(broker: Broker) -> None:
    topic = await topic_of(broker)
    client = await opened(broker, topic)
    waiting = asyncio.create_task(client.news(max_wait_ms=60_000))
    await broker.services.clock.sleep(1)
    assert not waiting.done()
    await append(broker, topic, 2)
    assert list(await waiting) == [2]
    assert broker.services.clock.monotonic() < 60


@on_broker
async def test_trimmed_log_is_news_after_the_wait(broker: Broker) -> None:
    topic = await topic_of(broker)
    await append(broker, topic)
    client = Client(broker, topic)
    await client.news(part(1))
    waiting = asyncio.create_task(client.news(max_wait_ms=1_000))
    await broker.services.clock.sleep(0.1)
    await broker.ask(DeleteRecordsResponse, delete(topic.name, (0, 1)))
    assert (await waiting)[0].log_start_offset == 1
    assert await client.news() == {}


@on_broker
async def test_second_request_ends_the_first(broker: Broker) -> None:
    """As after a client has timed out and connected again."""
    topic = await topic_of(broker)
    client = await opened(broker, topic)
    first = asyncio.create_task(client.ask(max_wait_ms=60_000))
    await broker.services.clock.sleep(1)
    number = client.number
    second = asyncio.create_task(client.ask(max_wait_ms=1_000))
    assert (await first).error_code == E.INVALID_FETCH_SESSION_EPOCH
    reply = await second
    assert (reply.error_code, reply.session_id, reply.responses) == (E.NONE, number, [])


@on_cluster
async def test_acls_that_change_in_a_session_apply_to_it(cluster: Cluster) -> None:
    security = SecuritySettings(authorizer_enable=True, allow_everyone_if_no_acl_found=True)
    broker = await cluster.broker(security=security)
    client = await opened(broker, await topic_of(broker))
    acls = broker.services.acl_admin
    assert acls is not None
    await acls.create([DENIED])
    found = await client.news()
    assert {one.error_code for one in found.values()} == {E.TOPIC_AUTHORIZATION_FAILED}
    await acls.delete([ANY_ACL])
    assert {one.error_code for one in (await client.news()).values()} == {E.NONE}
    assert await client.news() == {}


@on_broker
async def test_topic_created_again_is_unknown_by_its_old_id(broker: Broker) -> None:
    topic = await topic_of(broker)
    client = await opened(broker, topic)
    await broker.services.topic_admin.delete(topic.name, topic.topic_id)
    await topic_of(broker)
    found = await client.news()
    assert {one.error_code for one in found.values()} == {E.UNKNOWN_TOPIC_ID}


@on_cluster
async def test_session_unused_for_the_eviction_time_is_evicted_for_a_new_one(cluster: Cluster) -> None:
    broker = await cluster.broker(settings=limited(slots=2))
    topic = await topic_of(broker)
    first, second = await opened(broker, topic), await opened(broker, topic)
    assert (await Client(broker, topic).ask(part())).session_id == 0, "there is no space"
    await broker.services.clock.sleep(EVICTION_MS / 1000)
    await second.news()
    await broker.services.clock.sleep(0.1)
    third = await opened(broker, topic)
    assert (await first.ask()).error_code == E.FETCH_SESSION_ID_NOT_FOUND
    assert await second.news() == await third.news() == {}


@on_cluster
async def test_old_session_is_evicted_for_a_larger_one(cluster: Cluster) -> None:
    broker = await cluster.broker(settings=limited(slots=1))
    topic = await topic_of(broker)
    small = await opened(broker, topic, 2)
    for _ in range(3):
        assert (await Client(broker, topic).ask(part(), part(partition=1))).session_id == 0
        await broker.services.clock.sleep(0.4)
        await small.news()
    large = await opened(broker, topic, 3)
    assert (await small.ask()).error_code == E.FETCH_SESSION_ID_NOT_FOUND
    assert await large.news() == {}


@on_cluster
async def test_partitions_of_all_sessions_are_limited(cluster: Cluster) -> None:
    broker = await cluster.broker(settings=limited(partitions=4))
    topic = await topic_of(broker)
    client = await opened(broker, topic, 3)
    assert (await Client(broker, topic).ask(part(), part(partition=1))).session_id == 0
    other = await opened(broker, topic, 1)
    assert (await client.ask(forget=[0])).error_code == E.NONE
    assert (await other.ask(part(partition=1))).error_code == E.NONE
    assert (await other.ask(part(partition=2))).error_code == E.FETCH_SESSION_ID_NOT_FOUND
    assert await client.news() == {}


@on_broker
async def test_closed_session_watches_nothing(broker: Broker) -> None:
    topic = await topic_of(broker)
    watches = broker.services.log._domains[0].heads._watches
    client = await opened(broker, topic)
    assert len(watches) == 3
    await client.news(forget=[1])
    assert len(watches) == 2
    await broker.ask(FetchResponse, replace(fetch(topic, session=(client.number, -1)), topics=[]), 17)
    assert not watches


@on_broker
async def test_session_closed_during_a_request_watches_nothing_afterwards(broker: Broker) -> None:
    topic = await topic_of(broker)
    watches = broker.services.log._domains[0].heads._watches
    client = await opened(broker, topic, 1)
    waiting = asyncio.create_task(client.ask(max_wait_ms=60_000))
    await broker.services.clock.sleep(1)
    (session,) = broker.services.fetch_sessions._sessions.values()
    await broker.ask(FetchResponse, replace(fetch(topic, session=(client.number, -1)), topics=[]), 17)
    session.watch.add(broker.services.topics.all()[0].streams[2])
    assert not watches
    waiting.cancel()


def limited(slots: int = 10, partitions: int = 1_000) -> KafkaSettings:
    return KafkaSettings(
        max_incremental_fetch_session_cache_slots=slots,
        min_incremental_fetch_session_eviction_ms=EVICTION_MS,
        fetch_session_partitions_max=partitions,
    )
