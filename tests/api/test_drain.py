"""Shutdown of a broker: requests that wait for records or for group members are answered at once."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from dray.groups.limits import GroupLimits
from dray.wire import ErrorCode as E
from dray.wire.apis.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from dray.wire.apis.fetch import FetchResponse
from dray.wire.apis.heartbeat import HeartbeatRequest, HeartbeatResponse
from dray.wire.apis.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from dray.wire.apis.produce import ProduceResponse
from dray.wire.apis.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.api.builders import Broker, Cluster, on_broker, on_cluster
from tests.oracle.batches import batch
from tests.oracle.requests import Named, fetch, part, produce

T = TypeVar("T")
WAIT_MS = 30_000
FETCH_VERSION = 17
JOIN_VERSION = 3
"""The last one in which a member may join without an id of its own."""
SLOW_REBALANCE = GroupLimits(initial_rebalance_delay_ms=60_000)


async def drained(
    broker: Broker, request: Coroutine[Any, Any, T], *, after_steps: int = 200
) -> tuple[T, float]:
    """Shut down while `request` is served; returns its answer and how many seconds that took."""
    clock, answer = broker.services.clock, asyncio.create_task(request)
    for _ in range(after_steps):
        await asyncio.sleep(0)
    started = clock.monotonic()
    broker.drain()
    return await answer, clock.monotonic() - started


def join() -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range")],
    )


def sync(member: JoinGroupResponse) -> SyncGroupRequest:
    return SyncGroupRequest(group_id="g", generation_id=member.generation_id, member_id=member.member_id)


async def two_members(broker: Broker) -> list[JoinGroupResponse]:
    """Return two members of a new generation, the leader first."""
    joins = (broker.ask(JoinGroupResponse, join(), JOIN_VERSION) for _ in range(2))
    return sorted(await asyncio.gather(*joins), key=lambda one: one.member_id != one.leader)


@on_broker
async def test_long_poll_is_answered_at_once_with_the_records_there_are(broker: Broker) -> None:
    made = await broker.make_topic()
    await broker.append(made)
    request = fetch(Named(made.name, made.topic_id), part(), max_wait_ms=WAIT_MS, min_bytes=1 << 20)
    answer, seconds = await drained(broker, broker.ask(FetchResponse, request, FETCH_VERSION))
    assert answer.responses[0].partitions[0].error_code == E.NONE
    assert answer.responses[0].partitions[0].records
    assert seconds < 0.1


@on_broker
async def test_fetch_that_is_begun_during_the_shutdown_does_not_wait(broker: Broker) -> None:
    made = await broker.make_topic()
    request = fetch(Named(made.name, made.topic_id), part(), max_wait_ms=WAIT_MS)
    answer, seconds = await drained(broker, broker.ask(FetchResponse, request, FETCH_VERSION), after_steps=0)
    assert answer.responses[0].partitions[0].error_code == E.NONE
    assert seconds < 0.1


@on_cluster
async def test_pending_join_is_sent_to_another_coordinator_whenever_the_shutdown_starts(
    cluster: Cluster,
) -> None:
    for steps in range(40):
        broker = await cluster.broker(steps, limits=SLOW_REBALANCE)
        request = broker.ask(JoinGroupResponse, join(), JOIN_VERSION)
        answer, seconds = await drained(broker, request, after_steps=steps)
        assert answer.error_code == E.NOT_COORDINATOR
        assert seconds < 0.1
        await broker.stop()


@on_cluster
async def test_pending_sync_is_sent_to_another_coordinator(cluster: Cluster) -> None:
    broker = await cluster.broker(limits=GroupLimits(initial_rebalance_delay_ms=100))
    _, follower = await two_members(broker)
    answer, seconds = await drained(broker, broker.ask(SyncGroupResponse, sync(follower), JOIN_VERSION))
    assert answer.error_code == E.NOT_COORDINATOR
    assert seconds < 0.1


@on_broker
async def test_heartbeats_of_both_protocols_are_sent_to_another_coordinator(broker: Broker) -> None:
    classic = broker.ask(HeartbeatResponse, HeartbeatRequest(group_id="g", member_id="m"))
    answer, seconds = await drained(broker, classic, after_steps=0)
    assert (answer.error_code, seconds) == (E.NOT_COORDINATOR, 0)
    request = ConsumerGroupHeartbeatRequest(group_id="c", member_id="m", subscribed_topic_names=["t"])
    consumer = await broker.ask(ConsumerGroupHeartbeatResponse, request)
    assert consumer.error_code == E.NOT_COORDINATOR


@on_broker
async def test_produce_in_flight_is_answered_when_it_is_durable(broker: Broker) -> None:
    made = await broker.make_topic()
    store = broker.services.log._deps.objects
    put = store.put_new

    async def slow_put(*arguments: Any, **options: Any) -> Any:
        await broker.services.clock.sleep(2)
        return await put(*arguments, **options)

    store.put_new = slow_put  # type: ignore[method-assign]
    request = produce(Named(made.name, made.topic_id), batch(b"v"))
    answer, seconds = await drained(broker, broker.ask(ProduceResponse, request))
    assert answer.responses[0].partition_responses[0].error_code == E.NONE
    assert 1.5 < seconds <= 2.5
