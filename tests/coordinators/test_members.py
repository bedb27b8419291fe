"""Members of one group at one broker and at several."""

import asyncio

from dray.groups.commands import Heartbeat
from dray.groups.types import GroupError
from tests.coordinators.builders import (
    GROUP,
    SESSION_MS,
    TTL_MS,
    Member,
    Rig,
    consumer_heartbeat,
    simulated,
)


@simulated
async def test_member_joins_and_gets_its_assignment(rig: Rig) -> None:
    member = Member(await rig.broker(), "a")
    assert await member.join()
    assert await member.sync() == "NONE"
    assert member.assignment == b"a-1"
    assert await member.heartbeat() == "NONE"


@simulated
async def test_members_at_two_brokers_form_one_group(rig: Rig) -> None:
    async def a_rejoins(a: Member) -> bool:
        await asyncio.sleep(0.5)
        assert await a.heartbeat() == "REBALANCE_IN_PROGRESS"
        return await a.join()

    one, two = await rig.broker(1), await rig.broker(2)
    a, b = Member(one, "a"), Member(two, "b")
    await a.enter()
    joining = asyncio.gather(a_rejoins(a), b.join())
    leads = await joining
    assert sorted(leads) == [False, True]
    assert a.generation == b.generation == 2
    assert list(await asyncio.gather(a.sync(), b.sync())) == ["NONE", "NONE"]
    assert (a.assignment, b.assignment) == (b"a-1", b"b-1")


@simulated
async def test_pending_sync_is_completed_by_the_broker_that_holds_it(rig: Rig) -> None:
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


@simulated
async def test_heartbeats_without_news_write_nothing(rig: Rig) -> None:
    broker = await rig.broker()
    member = Member(broker, "a")
    await member.enter()
    await asyncio.sleep(1)
    before = broker.commits
    for _ in range(50):
        assert await member.heartbeat() == "NONE"
    assert broker.commits == before


@simulated
async def test_consumer_heartbeats_without_news_write_nothing(rig: Rig) -> None:
    broker = await rig.broker()
    result = await broker.do(broker.groups.consumer_heartbeat(GROUP, consumer_heartbeat(broker, "a")))
    assert sum(map(len, (result.assignment or {}).values())) == 4
    await asyncio.sleep(1.5)
    for _ in range(2):  # the first may still have something to write
        await broker.do(
            broker.groups.consumer_heartbeat(GROUP, consumer_heartbeat(broker, "a", result.epoch))
        )
    before = broker.commits
    for _ in range(50):
        again = await broker.do(
            broker.groups.consumer_heartbeat(GROUP, consumer_heartbeat(broker, "a", result.epoch))
        )
        assert again.error is GroupError.NONE
    assert broker.commits == before


@simulated
async def test_silent_member_is_removed_after_its_session_timeout(rig: Rig) -> None:
    broker = await rig.broker()
    member = Member(broker, "a")
    await member.enter()
    for _ in range(4):  # heartbeats keep the session alive
        await asyncio.sleep(SESSION_MS / 2000)
        assert await member.heartbeat() == "NONE"
    await asyncio.sleep(SESSION_MS / 1000 + 0.1)
    assert await member.heartbeat() == "UNKNOWN_MEMBER_ID"


@simulated
async def test_commits_keep_the_session_of_a_classic_member_alive(rig: Rig) -> None:
    member = Member(await rig.broker(), "a")
    await member.enter()
    for offset in range(4):
        await asyncio.sleep(SESSION_MS / 1500)
        assert await member.commit(offset) == "NONE"


@simulated
async def test_members_of_a_dead_broker_are_taken_over_with_a_new_session(rig: Rig) -> None:
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


@simulated
async def test_member_of_a_dead_broker_continues_at_another(rig: Rig) -> None:
    one, two = await rig.broker(1), await rig.broker(2)
    member = Member(one, "a")
    await member.enter()
    one.node.crash()
    member.broker = two
    for _ in range(10):
        await asyncio.sleep(SESSION_MS / 2000)
        assert await member.heartbeat() == "NONE"


@simulated
async def test_rebalance_completes_after_the_owner_broker_died(rig: Rig) -> None:
    brokers = {number: await rig.broker(number) for number in (1, 2)}
    owner = next(broker for broker in brokers.values() if broker.groups.owns(GROUP))
    other = next(broker for broker in brokers.values() if broker is not owner)
    rig.limits = type(rig.limits)(initial_rebalance_delay_ms=1_000)
    a, b = Member(owner, "a"), Member(other, "b")
    lost = asyncio.create_task(a.join())
    waiting = asyncio.create_task(b.join())
    await asyncio.sleep(0.5)
    owner.node.crash()
    a.broker = other
    await asyncio.wait([lost])
    assert lost.exception() is not None
    a.member_id = "a-1"
    async with asyncio.timeout((TTL_MS + SESSION_MS) / 1000 + 5):
        leads = await asyncio.gather(a.join(), waiting)
        assert sorted(leads) == [False, True]
        assert list(await asyncio.gather(a.sync(), b.sync())) == ["NONE", "NONE"]
    assert a.generation == b.generation


@simulated
async def test_restarted_broker_restarts_sessions(rig: Rig) -> None:
    broker = await rig.broker()
    member = Member(broker, "a")
    await member.enter()
    broker.node.crash()
    broker.node.restart()
    await broker.start()
    assert await member.heartbeat() == "NONE"
    await asyncio.sleep(SESSION_MS / 1000 + 1)
    assert await member.heartbeat() == "UNKNOWN_MEMBER_ID"


@simulated
async def test_hundred_concurrent_joins_cost_few_commits(rig: Rig) -> None:
    broker = await rig.broker()
    rig.limits = type(rig.limits)(initial_rebalance_delay_ms=500)
    members = [Member(broker, f"m{number}") for number in range(100)]
    before = broker.commits
    leads = await asyncio.gather(*(member.join() for member in members))
    assert sum(leads) == 1
    assert len({member.generation for member in members}) == 1
    assert set(await asyncio.gather(*(member.sync() for member in members))) == {"NONE"}
    assert broker.commits - before < 20


@simulated
async def test_requests_for_unknown_groups_leave_no_shards(rig: Rig) -> None:
    broker = await rig.broker()
    command = Heartbeat("unknown", None, 1, 1)
    for number in range(100):
        assert await broker.do(broker.groups.heartbeat(f"g{number}", command)) is GroupError.UNKNOWN_MEMBER_ID
    await asyncio.sleep(1)
    assert not any(broker.groups._shards.find(f"g{number}") for number in range(100))
