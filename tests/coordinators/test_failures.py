"""Failures: an unavailable store, lost replies, callers that disconnect."""

import asyncio

import pytest

from dray.coordinators import GroupsUnavailable
from tests.coordinators.builders import (
    ADMIN,
    GROUP,
    SESSION_MS,
    TTL_MS,
    Member,
    Rig,
    committed,
    offset_of,
    simulated,
)


@simulated
async def test_unavailable_store_makes_groups_unavailable(rig: Rig) -> None:
    broker = await rig.broker()
    member = Member(broker, "a")
    await member.enter()
    broker.link.unavailable = True
    with pytest.raises(GroupsUnavailable):
        await member.commit(1)
    with pytest.raises(GroupsUnavailable):
        await member.leave()
    broker.link.unavailable = False
    await asyncio.sleep(3)
    assert await member.commit(2) == "NONE"
    assert await committed(broker) == {("t", 0): 2}


@simulated
async def test_commit_whose_reply_was_lost_is_applied_once(rig: Rig) -> None:
    broker = await rig.broker()
    member = Member(broker, "a")
    await member.enter()
    broker.link.faults = {"commit": "lose response"}
    assert await member.commit(5) == "NONE"
    broker.link.faults = {}
    assert await committed(broker) == {("t", 0): 5}


@simulated
async def test_timers_that_fire_while_the_store_is_unavailable_are_retried(rig: Rig) -> None:
    broker = await rig.broker()
    member = Member(broker, "a")
    await member.enter()
    broker.link.unavailable = True
    await asyncio.sleep(20)
    broker.link.unavailable = False
    await asyncio.sleep(10)
    assert await member.heartbeat() == "UNKNOWN_MEMBER_ID"


@simulated
async def test_caller_that_disconnects_does_not_disturb_the_others(rig: Rig) -> None:
    rig.limits = type(rig.limits)(initial_rebalance_delay_ms=1_000)
    broker = await rig.broker()
    a, b = Member(broker, "a"), Member(broker, "b")
    disconnected = asyncio.create_task(a.join())
    waiting = asyncio.create_task(b.join())
    await asyncio.sleep(0.2)
    disconnected.cancel()
    await asyncio.wait([disconnected])
    await waiting
    assert b.generation == 1


@simulated
async def test_concurrent_commits_at_two_brokers_are_all_kept(rig: Rig) -> None:
    brokers = [await rig.broker(number) for number in (1, 2)]
    await asyncio.gather(
        *(
            broker.do(broker.groups.commit(GROUP, ADMIN, offset_of(broker, 10 * index + part, part)))
            for part in range(4)
            for index, broker in enumerate(brokers)
        )
    )
    offsets = await committed(brokers[0])
    assert len(offsets) == 4
    assert all(offset % 10 == partition for (_, partition), offset in offsets.items())


@simulated
async def test_session_does_not_end_while_a_request_of_its_member_waits_for_the_store(rig: Rig) -> None:
    broker = await rig.broker()
    member = Member(broker, "a")
    await member.enter()
    await asyncio.sleep(SESSION_MS / 1000 - 0.5)
    responses = broker.link.hold("commit")
    committing = asyncio.create_task(member.commit(1))
    await asyncio.sleep(1)  # the session ends
    broker.link.held.clear()
    responses.set()
    assert await committing == "NONE"
    await asyncio.sleep(SESSION_MS / 1000 - 1)  # less than the session that the commit has begun
    assert await member.heartbeat() == "NONE"


@simulated
async def test_session_ends_although_a_request_of_its_member_failed_meanwhile(rig: Rig) -> None:
    broker = await rig.broker()
    member = Member(broker, "a")
    await member.enter()
    await asyncio.sleep(SESSION_MS / 1000 - 0.5)
    responses = broker.link.hold("commit")
    committing = asyncio.create_task(member.commit(1))
    await asyncio.sleep(1)
    committing.cancel()
    await asyncio.wait([committing])
    broker.link.held.clear()
    responses.set()
    await asyncio.sleep(2)
    assert await member.heartbeat() == "UNKNOWN_MEMBER_ID"


@simulated
async def test_broker_that_registers_again_owns_its_groups_again(rig: Rig) -> None:
    brokers = [await rig.broker(number) for number in (1, 2, 3)]
    await asyncio.sleep(1)
    (owner,) = [broker for broker in brokers if broker.groups.owns(GROUP)]
    other = next(broker for broker in brokers if broker is not owner)
    owner.link.faults = {"renew_session": "refuse", "open_session": "refuse"}
    await asyncio.sleep(TTL_MS / 1000 + 1)  # its registration expires
    assert not owner.groups.owns(GROUP)
    other.node.crash()
    await asyncio.sleep(TTL_MS / 1000 + 1)
    owner.link.faults = {}
    await asyncio.sleep(3)
    assert [broker for broker in brokers if broker is not other and broker.groups.owns(GROUP)] == [owner]


@simulated
async def test_broker_that_is_not_registered_answers_no_heartbeat_from_memory(rig: Rig) -> None:
    broker = await rig.broker()
    member = Member(broker, "a")
    await member.enter()
    broker.link.faults = {"renew_session": "refuse", "open_session": "refuse", "get": "refuse"}
    assert await member.heartbeat() == "NONE"
    await asyncio.sleep(TTL_MS / 1000 + 0.1)  # others may have taken over the member by now
    with pytest.raises(GroupsUnavailable):
        await member.heartbeat()
