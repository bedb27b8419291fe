"""Gauges and counters of groups: each group is reported by its owner broker only, until it is deleted."""

import asyncio

from dray.groups.types import GroupError
from tests.coordinators.builders import (
    ADMIN,
    GROUP,
    TTL_MS,
    Broker,
    Member,
    Rig,
    consumer_heartbeat,
    offset_of,
    simulated,
)
from tests.coordinators.readings import Reading, added, reading

MAINTAINED_S = 0.6
"""By then every broker has updated its gauges."""


async def reported(brokers: list[Broker], name: str) -> Reading:
    await asyncio.sleep(MAINTAINED_S)
    return added([reading(broker.metrics, name) for broker in brokers])


@simulated
async def test_group_is_reported_by_one_broker_with_its_state(rig: Rig) -> None:
    brokers = [await rig.broker(1), await rig.broker(2)]
    members = [Member(brokers[0], "a"), Member(brokers[1], "b")]
    rig.limits = type(rig.limits)(initial_rebalance_delay_ms=2_000)
    joining = [asyncio.create_task(member.join()) for member in members]
    assert await reported(brokers, "current_groups") == {("classic", "PreparingRebalance"): 1}
    await asyncio.gather(*joining)
    assert await reported(brokers, "current_groups") == {("classic", "CompletingRebalance"): 1}
    await asyncio.gather(*(member.sync() for member in members))
    assert await reported(brokers, "current_groups") == {("classic", "Stable"): 1}
    assert await reported(brokers, "current_members") == {("classic",): 2}
    for member in members:
        await member.leave()
    assert await reported(brokers, "current_groups") == {("classic", "Empty"): 1}
    assert await reported(brokers, "current_members") == {}
    await brokers[1].do(brokers[1].groups.delete(GROUP))
    assert await reported(brokers, "current_groups") == {}


@simulated
async def test_every_new_generation_counts_as_rebalance(rig: Rig) -> None:
    brokers = [await rig.broker(1), await rig.broker(2)]
    member = Member(brokers[0], "a")
    await member.enter()
    assert await reported(brokers, "rebalances_total") == {("classic",): 1}
    for number in range(2, 5):
        await member.enter()  # the leader rejoins, which starts a new generation
        assert member.generation == number
        assert await reported(brokers, "rebalances_total") == {("classic",): number}
    for _ in range(5):
        assert await member.heartbeat() == "NONE"
    assert await reported(brokers, "rebalances_total") == {("classic",): 4}


@simulated
async def test_every_new_target_assignment_counts_as_rebalance(rig: Rig) -> None:
    broker = await rig.broker()
    for number, name in enumerate(["a", "b", "c"], start=1):
        await asyncio.sleep(2)
        result = await broker.do(broker.groups.consumer_heartbeat(GROUP, consumer_heartbeat(broker, name)))
        assert result.error is GroupError.NONE
        assert await reported([broker], "rebalances_total") == {("consumer",): number}
    assert await reported([broker], "current_members") == {("consumer",): 3}


@simulated
async def test_group_that_changes_its_protocol_is_counted_once(rig: Rig) -> None:
    broker = await rig.broker()
    await broker.do(broker.groups.commit(GROUP, ADMIN, offset_of(broker, 1)))
    assert await reported([broker], "current_groups") == {("classic", "Empty"): 1}
    assert await reported([broker], "rebalances_total") == {}
    await broker.do(broker.groups.consumer_heartbeat(GROUP, consumer_heartbeat(broker, "a")))
    assert await reported([broker], "current_groups") == {("consumer", "Stable"): 1}
    assert await reported([broker], "rebalances_total") == {("consumer",): 1}


@simulated
async def test_restart_counts_no_old_rebalances_and_groups_of_dead_brokers_are_taken_over(rig: Rig) -> None:
    brokers = [await rig.broker(1), await rig.broker(2)]
    owner = next(broker for broker in brokers if broker.groups.owns(GROUP))
    other = next(broker for broker in brokers if broker is not owner)
    member = Member(other, "a")
    await member.enter()
    assert await reported([owner], "current_groups") == {("classic", "Stable"): 1}
    assert await reported([other], "current_groups") == {}
    owner.node.crash()
    await asyncio.sleep(TTL_MS / 1000 + 1)
    assert await reported([other], "current_groups") == {("classic", "Stable"): 1}
    assert await reported([other], "rebalances_total") == {}
    assert await member.heartbeat() == "NONE"
    later = await rig.broker(3)
    assert await reported([other, later], "current_groups") == {("classic", "Stable"): 1}
    assert await reported([later], "rebalances_total") == {}


@simulated
async def test_committed_offsets_are_counted_and_rejected_ones_are_not(rig: Rig) -> None:
    broker = await rig.broker()
    member = Member(broker, "a")
    await member.enter()
    assert await member.commit(5) == "NONE"
    member.generation += 7
    assert await member.commit(6) == "ILLEGAL_GENERATION"
    offsets = offset_of(broker, 1, 0) | offset_of(broker, 1, 1) | offset_of(broker, 1, 2)
    await broker.do(broker.groups.commit("other", ADMIN, offsets))
    assert reading(broker.metrics, "committed_offsets_total") == {(): 4}


@simulated
async def test_conflicts_with_another_broker_are_counted(rig: Rig) -> None:
    brokers = [await rig.broker(1), await rig.broker(2)]
    rig.limits = type(rig.limits)(initial_rebalance_delay_ms=1_000)
    members = [Member(brokers[number % 2], f"m{number}") for number in range(4)]
    for broker in brokers:
        broker.link.slow_by = lambda: 0.05
    await asyncio.gather(*(member.join() for member in members))
    assert added([reading(broker.metrics, "commit_conflicts_total") for broker in brokers])[()] >= 1
