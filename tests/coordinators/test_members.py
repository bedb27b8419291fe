"""Members of one group at one broker and at several."""

import asyncio

from dray.groups.asks import Beat
from dray.groups.faults import Fault
from tests.coordinators.builders import (
    GROUP,
    SESSION_MS,
    TTL_MS,
    Member,
    Rig,
    consumer_ask,
    play,
)


def test_a_member_joins_and_gets_its_assignment() -> None:
    async def scene(rig: Rig) -> None:
        member = Member(await rig.broker(), "a")
        assert await member.join()
        assert await member.sync() == "NONE"
        assert member.assignment == b"a-1"
        assert await member.beat() == "NONE"

    play(scene)


def test_members_at_two_brokers_form_one_group() -> None:
    async def scene(rig: Rig) -> None:
        one, two = await rig.broker(1), await rig.broker(2)
        a, b = Member(one, "a"), Member(two, "b")
        await a.enter()
        joining = asyncio.gather(a_rejoins(a), b.join())
        leads = await joining
        assert sorted(leads) == [False, True]
        assert a.generation == b.generation == 2
        assert list(await asyncio.gather(a.sync(), b.sync())) == ["NONE", "NONE"]
        assert (a.assignment, b.assignment) == (b"a-1", b"b-1")

    async def a_rejoins(a: Member) -> bool:
        await asyncio.sleep(0.5)
        assert await a.beat() == "REBALANCE_IN_PROGRESS"
        return await a.join()

    play(scene)


def test_a_parked_sync_is_answered_by_the_broker_that_holds_it() -> None:
    async def scene(rig: Rig) -> None:
        one, two = await rig.broker(1), await rig.broker(2)
        a, b = Member(one, "a"), Member(two, "b")
        rig.limits = type(rig.limits)(initial_rebalance_delay_ms=500)
        await asyncio.gather(a.join(), b.join())
        leader, follower = (a, b) if a.others else (b, a)
        waiting = asyncio.create_task(follower.sync())
        await asyncio.sleep(1)
        assert not waiting.done()
        assert await leader.sync() == "NONE"
        assert await waiting == "NONE"
        assert follower.assignment == follower.member_id.encode()

    play(scene)


def test_quiet_heartbeats_write_nothing() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        member = Member(broker, "a")
        await member.enter()
        await asyncio.sleep(1)
        before = broker.commits
        for _ in range(50):
            assert await member.beat() == "NONE"
        assert broker.commits == before

    play(scene)


def test_quiet_heartbeats_of_the_consumer_protocol_write_nothing() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        beaten = await broker.do(broker.groups.consumer_beat(GROUP, consumer_ask(broker, "a")))
        assert sum(map(len, (beaten.assignment or {}).values())) == 4
        await asyncio.sleep(1.5)
        for _ in range(2):  # the first may still have something to write
            await broker.do(broker.groups.consumer_beat(GROUP, consumer_ask(broker, "a", beaten.epoch)))
        before = broker.commits
        for _ in range(50):
            again = await broker.do(
                broker.groups.consumer_beat(GROUP, consumer_ask(broker, "a", beaten.epoch))
            )
            assert again.fault is Fault.NONE
        assert broker.commits == before

    play(scene)


def test_a_silent_member_is_put_out_after_its_session() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        member = Member(broker, "a")
        await member.enter()
        for _ in range(4):  # calling keeps it in
            await asyncio.sleep(SESSION_MS / 2000)
            assert await member.beat() == "NONE"
        await asyncio.sleep(SESSION_MS / 1000 + 0.1)
        assert await member.beat() == "UNKNOWN_MEMBER_ID"

    play(scene)


def test_committing_keeps_a_member_in() -> None:
    async def scene(rig: Rig) -> None:
        member = Member(await rig.broker(), "a")
        await member.enter()
        for offset in range(4):
            await asyncio.sleep(SESSION_MS / 1500)
            assert await member.commit(offset) == "NONE"

    play(scene)


def test_members_of_a_dead_broker_are_taken_over_with_a_fresh_session() -> None:
    async def scene(rig: Rig) -> None:
        one, two = await rig.broker(1), await rig.broker(2)
        member = Member(one, "a")
        await member.enter()
        one.node.crash()
        await asyncio.sleep(TTL_MS / 1000 + 1)
        group = await two.do(two.groups.find(GROUP))
        assert group is not None
        assert [one.broker for one in group.members.values()] == [2]
        await asyncio.sleep(SESSION_MS / 1000 + 1)
        group = await two.do(two.groups.find(GROUP))
        assert group is not None
        assert not group.members

    play(scene)


def test_a_member_of_a_dead_broker_goes_on_at_another() -> None:
    async def scene(rig: Rig) -> None:
        one, two = await rig.broker(1), await rig.broker(2)
        member = Member(one, "a")
        await member.enter()
        one.node.crash()
        member.broker = two
        for _ in range(10):
            await asyncio.sleep(SESSION_MS / 2000)
            assert await member.beat() == "NONE"

    play(scene)


def test_the_group_goes_on_when_the_broker_that_ran_its_timers_dies_in_a_rebalance() -> None:
    async def scene(rig: Rig) -> None:
        brokers = {number: await rig.broker(number) for number in (1, 2)}
        carer = next(broker for broker in brokers.values() if broker.groups.cares_for(GROUP))
        other = next(broker for broker in brokers.values() if broker is not carer)
        rig.limits = type(rig.limits)(initial_rebalance_delay_ms=1_000)
        a, b = Member(carer, "a"), Member(other, "b")
        lost = asyncio.create_task(a.join())
        waiting = asyncio.create_task(b.join())
        await asyncio.sleep(0.5)
        carer.node.crash()
        a.broker = other
        await asyncio.wait([lost])
        assert lost.exception() is not None
        a.member_id = "a-1"
        async with asyncio.timeout((TTL_MS + SESSION_MS) / 1000 + 5):
            leads = await asyncio.gather(a.join(), waiting)
            assert sorted(leads) == [False, True]
            assert list(await asyncio.gather(a.sync(), b.sync())) == ["NONE", "NONE"]
        assert a.generation == b.generation

    play(scene)


def test_a_broker_that_restarts_starts_sessions_anew() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        member = Member(broker, "a")
        await member.enter()
        broker.node.crash()
        broker.node.restart()
        await broker.start()
        assert await member.beat() == "NONE"
        await asyncio.sleep(SESSION_MS / 1000 + 1)
        assert await member.beat() == "UNKNOWN_MEMBER_ID"

    play(scene)


def test_a_hundred_members_that_join_at_once_cost_few_commits() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        rig.limits = type(rig.limits)(initial_rebalance_delay_ms=500)
        members = [Member(broker, f"m{number}") for number in range(100)]
        before = broker.commits
        leads = await asyncio.gather(*(member.join() for member in members))
        assert sum(leads) == 1
        assert len({member.generation for member in members}) == 1
        assert set(await asyncio.gather(*(member.sync() for member in members))) == {"NONE"}
        assert broker.commits - before < 20

    play(scene)


def test_asking_for_groups_that_are_not_there_leaves_nothing() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        ask = Beat("nobody", None, 1, 1)
        for number in range(100):
            assert await broker.do(broker.groups.beat(f"g{number}", ask)) is Fault.UNKNOWN_MEMBER_ID
        await asyncio.sleep(1)
        assert not broker.groups._desks

    play(scene)
