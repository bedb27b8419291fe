"""Groups, members and rebalances as the metrics tell them: each group by one broker, and none for ever."""

import asyncio

from dray.groups.faults import Fault
from tests.coordinators.builders import (
    ADMIN,
    GROUP,
    TTL_MS,
    Broker,
    Member,
    Rig,
    consumer_ask,
    given_offset,
    play,
)
from tests.coordinators.readings import Reading, added, reading

LOOKED_S = 0.6
"""By then every broker has looked after its groups."""


async def told(brokers: list[Broker], what: str) -> Reading:
    await asyncio.sleep(LOOKED_S)
    return added([reading(broker.metrics, what) for broker in brokers])


def test_a_group_is_told_by_one_broker_with_its_state() -> None:
    async def scene(rig: Rig) -> None:
        brokers = [await rig.broker(1), await rig.broker(2)]
        members = [Member(brokers[0], "a"), Member(brokers[1], "b")]
        rig.limits = type(rig.limits)(initial_rebalance_delay_ms=2_000)
        joining = [asyncio.create_task(member.join()) for member in members]
        assert await told(brokers, "current_groups") == {("classic", "PreparingRebalance"): 1}
        await asyncio.gather(*joining)
        assert await told(brokers, "current_groups") == {("classic", "CompletingRebalance"): 1}
        await asyncio.gather(*(member.sync() for member in members))
        assert await told(brokers, "current_groups") == {("classic", "Stable"): 1}
        assert await told(brokers, "current_members") == {("classic",): 2}
        for member in members:
            await member.leave()
        assert await told(brokers, "current_groups") == {("classic", "Empty"): 1}
        assert await told(brokers, "current_members") == {}
        await brokers[1].do(brokers[1].groups.delete(GROUP))
        assert await told(brokers, "current_groups") == {}

    play(scene)


def test_every_generation_is_a_rebalance() -> None:
    async def scene(rig: Rig) -> None:
        brokers = [await rig.broker(1), await rig.broker(2)]
        member = Member(brokers[0], "a")
        await member.enter()
        assert await told(brokers, "rebalances_total") == {("classic",): 1}
        for number in range(2, 5):
            await member.enter()  # who leads and joins again makes a new generation
            assert member.generation == number
            assert await told(brokers, "rebalances_total") == {("classic",): number}
        for _ in range(5):
            assert await member.beat() == "NONE"
        assert await told(brokers, "rebalances_total") == {("classic",): 4}

    play(scene)


def test_every_assignment_is_a_rebalance() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        for number, name in enumerate(["a", "b", "c"], start=1):
            await asyncio.sleep(2)
            beaten = await broker.do(broker.groups.consumer_beat(GROUP, consumer_ask(broker, name)))
            assert beaten.fault is Fault.NONE
            assert await told([broker], "rebalances_total") == {("consumer",): number}
        assert await told([broker], "current_members") == {("consumer",): 3}

    play(scene)


def test_a_group_that_changes_its_protocol_is_counted_once() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        await broker.do(broker.groups.commit(GROUP, ADMIN, [given_offset(broker, 1)]))
        assert await told([broker], "current_groups") == {("classic", "Empty"): 1}
        assert await told([broker], "rebalances_total") == {}
        await broker.do(broker.groups.consumer_beat(GROUP, consumer_ask(broker, "a")))
        assert await told([broker], "current_groups") == {("consumer", "Stable"): 1}
        assert await told([broker], "rebalances_total") == {("consumer",): 1}

    play(scene)


def test_what_was_before_a_broker_is_not_counted_and_groups_of_the_dead_are_taken_over() -> None:
    async def scene(rig: Rig) -> None:
        brokers = [await rig.broker(1), await rig.broker(2)]
        carer = next(broker for broker in brokers if broker.groups.cares_for(GROUP))
        other = next(broker for broker in brokers if broker is not carer)
        member = Member(other, "a")
        await member.enter()
        assert await told([carer], "current_groups") == {("classic", "Stable"): 1}
        assert await told([other], "current_groups") == {}
        carer.node.crash()
        await asyncio.sleep(TTL_MS / 1000 + 1)
        assert await told([other], "current_groups") == {("classic", "Stable"): 1}
        assert await told([other], "rebalances_total") == {}
        assert await member.beat() == "NONE"
        later = await rig.broker(3)
        assert await told([other, later], "current_groups") == {("classic", "Stable"): 1}
        assert await told([later], "rebalances_total") == {}

    play(scene)


def test_committed_offsets_are_counted_and_refused_ones_are_not() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        member = Member(broker, "a")
        await member.enter()
        assert await member.commit(5) == "NONE"
        member.generation += 7
        assert await member.commit(6) == "ILLEGAL_GENERATION"
        given = [given_offset(broker, 1, partition) for partition in range(3)]
        await broker.do(broker.groups.commit("other", ADMIN, given))
        assert reading(broker.metrics, "committed_offsets_total") == {(): 4}

    play(scene)


def test_changes_lost_to_another_broker_are_counted() -> None:
    async def scene(rig: Rig) -> None:
        brokers = [await rig.broker(1), await rig.broker(2)]
        rig.limits = type(rig.limits)(initial_rebalance_delay_ms=1_000)
        members = [Member(brokers[number % 2], f"m{number}") for number in range(4)]
        for broker in brokers:
            broker.link.slow_s = 0.1
        await asyncio.gather(*(member.join() for member in members))
        assert added([reading(broker.metrics, "commit_conflicts_total") for broker in brokers])[()] >= 1

    play(scene)
