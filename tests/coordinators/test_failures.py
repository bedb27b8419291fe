"""The store goes away, answers are lost, brokers stop."""

import asyncio

import pytest

from dray.coordinators import GroupsAway, GroupsClosed
from tests.coordinators.builders import (
    ADMIN,
    GROUP,
    Member,
    Rig,
    committed,
    given_offset,
    play,
)


def test_while_the_store_is_away_groups_are_too() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        member = Member(broker, "a")
        await member.enter()
        broker.link.away = True
        with pytest.raises(GroupsAway):
            await member.commit(1)
        with pytest.raises(GroupsAway):
            await member.leave()
        broker.link.away = False
        await asyncio.sleep(3)
        assert await member.commit(2) == "NONE"
        assert await committed(broker) == {("t", 0): 2}

    play(scene)


def test_a_commit_whose_answer_was_lost_is_done_once() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        member = Member(broker, "a")
        await member.enter()
        broker.link.lose = "commit"
        assert await member.commit(5) == "NONE"
        broker.link.lose = None
        assert await committed(broker) == {("t", 0): 5}

    play(scene)


def test_timers_that_fire_while_the_store_is_away_are_not_lost() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        member = Member(broker, "a")
        await member.enter()
        broker.link.away = True
        await asyncio.sleep(20)
        broker.link.away = False
        await asyncio.sleep(10)
        assert await member.beat() == "UNKNOWN_MEMBER_ID"

    play(scene)


def test_who_waits_at_a_broker_that_stops_is_sent_elsewhere() -> None:
    async def scene(rig: Rig) -> None:
        rig.limits = type(rig.limits)(initial_rebalance_delay_ms=60_000)
        broker = await rig.broker()
        member = Member(broker, "a")
        waiting = asyncio.create_task(member.join())
        await asyncio.sleep(1)
        broker.groups.close()
        with pytest.raises(GroupsClosed):
            await waiting
        with pytest.raises(GroupsClosed):
            await member.beat()

    play(scene)


def test_a_caller_that_goes_away_leaves_the_others_undisturbed() -> None:
    async def scene(rig: Rig) -> None:
        rig.limits = type(rig.limits)(initial_rebalance_delay_ms=1_000)
        broker = await rig.broker()
        a, b = Member(broker, "a"), Member(broker, "b")
        gone = asyncio.create_task(a.join())
        waiting = asyncio.create_task(b.join())
        await asyncio.sleep(0.2)
        gone.cancel()
        await asyncio.wait([gone])
        await waiting
        assert b.generation == 1

    play(scene)


def test_two_brokers_that_change_one_group_at_once_lose_nothing() -> None:
    async def scene(rig: Rig) -> None:
        brokers = [await rig.broker(number) for number in (1, 2)]
        await asyncio.gather(
            *(
                broker.do(broker.groups.commit(GROUP, ADMIN, [given_offset(broker, 10 * index + part, part)]))
                for part in range(4)
                for index, broker in enumerate(brokers)
            )
        )
        offsets = await committed(brokers[0])
        assert len(offsets) == 4
        assert all(offset % 10 == partition for (_, partition), offset in offsets.items())

    play(scene)
