"""Departure of a broker: all name the others before it stops, and clients are sent on to them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from dray.server.leaving import Departure
from dray.wire import ErrorCode as E
from dray.wire.apis.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from dray.wire.apis.fetch import FetchResponse
from dray.wire.apis.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from dray.wire.apis.heartbeat import HeartbeatRequest, HeartbeatResponse
from dray.wire.apis.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from dray.wire.apis.produce import ProduceResponse
from tests.api.builders import TTL_MS, Broker, Cluster, on_broker, on_cluster
from tests.oracle.batches import batch
from tests.oracle.requests import Named, fetch, part, produce

DRAIN_MS = 1_000
PARTITIONS = 8
SETTLED_S = 1.0
"""Longer than watches and the maintenance of groups take."""


def leave(broker: Broker, connections: Callable[[], int] = lambda: 1, *, drain_ms: int = DRAIN_MS) -> Any:
    services = broker.services
    departure = Departure(
        services.routing, broker.registration, broker.drain, connections, services.clock, drain_ms
    )
    return departure.leave()


async def seconds(broker: Broker, leaving: Awaitable[None]) -> float:
    began = broker.services.clock.monotonic()
    await leaving
    return broker.services.clock.monotonic() - began


async def named_by(broker: Broker, client_id: str = "") -> set[int]:
    """Return every broker that a client is named in any way."""
    topics = [MetadataRequestTopic(name="t")]
    metadata = await broker.ask(MetadataResponse, MetadataRequest(topics=topics), client_id=client_id)
    cluster = await broker.ask(DescribeClusterResponse, DescribeClusterRequest(), client_id=client_id)
    groups = FindCoordinatorRequest(coordinator_keys=[f"g{number}" for number in range(PARTITIONS)])
    coordinators = await broker.ask(FindCoordinatorResponse, groups, client_id=client_id)
    return {
        *(one.node_id for one in metadata.brokers),
        *(one.leader_id for one in metadata.topics[0].partitions),
        *(one.broker_id for one in cluster.brokers),
        *(one.node_id for one in coordinators.coordinators),
        metadata.controller_id,
    }


async def brokers_of(cluster: Cluster, *zones: str | None) -> tuple[list[Broker], Named]:
    brokers = [await cluster.broker(number, zone) for number, zone in enumerate(zones, 1)]
    made = await brokers[0].make_topic("t", PARTITIONS)
    await cluster.clock.sleep(SETTLED_S)
    return brokers, Named(made.name, made.topic_id)


@on_broker
async def test_lone_broker_stops_at_once_and_serves_to_the_end(broker: Broker) -> None:
    await broker.make_topic()
    assert await seconds(broker, leave(broker)) == 0
    assert await named_by(broker) == {1}
    answer = await broker.ask(HeartbeatResponse, HeartbeatRequest(group_id="g", member_id="m"))
    assert answer.error_code == E.UNKNOWN_MEMBER_ID


@on_cluster
async def test_leaving_broker_is_named_by_none_while_it_still_answers(cluster: Cluster) -> None:
    (one, two, _), _ = await brokers_of(cluster, None, None, None)
    assert await named_by(one) == await named_by(two) == {1, 2, 3}
    leaving = asyncio.create_task(leave(one))
    await cluster.clock.sleep(DRAIN_MS / 2000)
    assert not leaving.done()
    assert await named_by(one) == await named_by(two) == {2, 3}
    await leaving


@on_cluster
async def test_last_broker_of_a_zone_sends_its_clients_to_the_others(cluster: Cluster) -> None:
    (one, two, _), _ = await brokers_of(cluster, "a", "b", "b")
    assert await named_by(one, "zone_id=a") == {1}
    leaving = asyncio.create_task(leave(one))
    await cluster.clock.sleep(DRAIN_MS / 2000)
    assert await named_by(one, "zone_id=a") == await named_by(two, "zone_id=a") == {2, 3}
    await leaving


@on_cluster
async def test_clients_of_a_leaving_broker_are_sent_to_the_leader_that_metadata_names(
    cluster: Cluster,
) -> None:
    (one, two), topic = await brokers_of(cluster, None, None)
    poll = asyncio.create_task(one.ask(FetchResponse, fetch(topic, part(), max_wait_ms=60_000), 17))
    await cluster.settle()
    leaving = asyncio.create_task(leave(one))
    waited = await poll
    assert (waited.error_code, waited.responses[0].partitions[0].error_code) == (E.NONE, E.NONE)
    assert not leaving.done(), "the long poll ended when the broker began to leave"
    found = (await one.ask(FetchResponse, fetch(topic, part(), max_wait_ms=60_000), 17)).responses[0]
    stored = (await one.ask(ProduceResponse, produce(topic, batch()))).responses[0]
    for partition in (found.partitions[0], stored.partition_responses[0]):
        assert partition.error_code == E.NOT_LEADER_OR_FOLLOWER
        assert partition.current_leader.leader_id == 2
    heartbeat = await one.ask(HeartbeatResponse, HeartbeatRequest(group_id="g", member_id="m"))
    assert heartbeat.error_code == E.NOT_COORDINATOR
    accepted = await two.ask(ProduceResponse, produce(topic, batch()))
    assert accepted.responses[0].partition_responses[0].error_code == E.NONE
    await leaving


@on_cluster
async def test_groups_move_to_the_brokers_that_stay(cluster: Cluster) -> None:
    (one, two), _ = await brokers_of(cluster, None, None)
    groups = [f"g{number}" for number in range(PARTITIONS)]
    assert {two.services.groups.owns(group) for group in groups} == {True, False}
    leaving = asyncio.create_task(leave(one, drain_ms=5_000))
    await cluster.clock.sleep(SETTLED_S)
    assert not leaving.done()
    assert all(two.services.groups.owns(group) for group in groups)
    await leaving


@on_cluster
async def test_departure_takes_the_time_that_is_set_or_until_all_clients_have_gone(cluster: Cluster) -> None:
    (one, two, three, _), _ = await brokers_of(cluster, None, None, None, None)
    assert DRAIN_MS / 1000 <= await seconds(one, leave(one)) < DRAIN_MS / 1000 + 0.1
    assert await seconds(two, leave(two, lambda: 0)) < 0.1
    assert await seconds(three, leave(three, drain_ms=0)) == 0
    await cluster.settle()
    assert await named_by(three) == {3, 4}, "without a drain it is named until it stops"


@on_cluster
async def test_brokers_that_leave_together_do_not_wait_for_each_other(cluster: Cluster) -> None:
    """Each sees the other go, and has nowhere to send clients."""
    (one, two), _ = await brokers_of(cluster, None, None)
    took = await asyncio.gather(seconds(one, leave(one)), seconds(two, leave(two)))
    assert max(took) < 0.1


@on_cluster
async def test_broker_leaves_in_time_without_the_metadata_store(cluster: Cluster) -> None:
    (one, two), _ = await brokers_of(cluster, None, None)
    one.link.unavailable = True
    assert await seconds(one, leave(one)) <= DRAIN_MS / 1000 + 0.1
    await cluster.clock.sleep(3 * TTL_MS / 1000)
    assert await named_by(two) == {2}, "its session has expired"
