"""Draining: a broker that stops answers every pending request at once, so that clients look for another."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from dray.coordinators import GroupsClosed
from tests.coordinators.builders import ADMIN, GROUP, SESSION_MS, Member, Rig, committed, offset_of, simulated

LONG_MS = 60_000


async def fails_at_once(rig: Rig, pending: "asyncio.Task[Any]") -> None:
    began = rig.clock.monotonic()
    with pytest.raises(GroupsClosed):
        await pending
    assert rig.clock.monotonic() - began < 0.1


@simulated
async def test_pending_join_fails_at_once(rig: Rig) -> None:
    rig.limits = type(rig.limits)(initial_rebalance_delay_ms=LONG_MS)
    broker = await rig.broker()
    joining = asyncio.create_task(Member(broker, "a").join())
    await asyncio.sleep(1)
    broker.groups.drain()
    await fails_at_once(rig, joining)


@simulated
async def test_pending_sync_fails_at_once(rig: Rig) -> None:
    rig.limits = type(rig.limits)(initial_rebalance_delay_ms=500)
    broker = await rig.broker()
    a, b = Member(broker, "a"), Member(broker, "b")
    await asyncio.gather(a.join(), b.join())
    follower = b if a.others else a
    syncing = asyncio.create_task(follower.sync())
    await asyncio.sleep(1)
    assert not syncing.done()
    broker.groups.drain()
    await fails_at_once(rig, syncing)


@simulated
async def test_join_whose_commit_is_under_way_fails_once_that_ends(rig: Rig) -> None:
    rig.limits = type(rig.limits)(initial_rebalance_delay_ms=LONG_MS)
    broker = await rig.broker()
    broker.link.slow_by = lambda: 0.025
    joining = asyncio.create_task(Member(broker, "a").join())
    await asyncio.sleep(0.08)  # the group was read, the commit is under way
    broker.groups.drain()
    await fails_at_once(rig, joining)


@simulated
async def test_commit_under_way_is_acknowledged_and_queued_commits_fail(rig: Rig) -> None:
    broker = await rig.broker()
    member = Member(broker, "a")
    await member.enter()
    broker.link.slow_by = lambda: 0.025
    under_way = asyncio.create_task(member.commit(1, partition=0))
    await asyncio.sleep(0.01)
    queued = asyncio.create_task(member.commit(2, partition=1))
    await asyncio.sleep(0.01)
    broker.groups.drain()
    await fails_at_once(rig, queued)
    assert await under_way == "NONE"
    assert await committed(broker) == {("t", 0): 1}


@simulated
async def test_commands_that_wait_for_a_slow_store_fail_at_once_and_are_not_applied(rig: Rig) -> None:
    broker = await rig.broker()
    broker.link.slow_by = lambda: 2.5
    reading = asyncio.create_task(broker.do(broker.groups.commit(GROUP, ADMIN, offset_of(broker, 1))))
    await asyncio.sleep(1)
    broker.groups.drain()
    await fails_at_once(rig, reading)
    broker.link.slow_by = None
    await asyncio.sleep(10)
    assert await committed(broker) == {}


@simulated
async def test_requests_after_drain_fail_and_timers_no_longer_fire(rig: Rig) -> None:
    broker = await rig.broker()
    member = Member(broker, "a")
    await member.enter()
    await asyncio.sleep(1)
    broker.groups.drain()
    before = broker.commits
    requests: list[Coroutine[Any, Any, Any]] = [
        member.join(),
        member.sync(),
        member.heartbeat(),
        member.leave(),
        broker.do(broker.groups.commit(GROUP, ADMIN, offset_of(broker, 1))),
        broker.do(broker.groups.find(GROUP)),
    ]
    for request in requests:
        with pytest.raises(GroupsClosed):
            await request
    await asyncio.sleep(SESSION_MS / 1000 + 1)
    assert broker.commits == before


@simulated
async def test_members_of_a_drained_broker_continue_at_another(rig: Rig) -> None:
    one, two = await rig.broker(1), await rig.broker(2)
    rig.limits = type(rig.limits)(initial_rebalance_delay_ms=2_000)
    a, b = Member(one, "a", instance_id="i"), Member(two, "b")
    lost = asyncio.create_task(a.join())
    waiting = asyncio.create_task(b.join())
    await asyncio.sleep(0.5)
    one.groups.drain()
    await fails_at_once(rig, lost)
    one.node.crash()  # now the other broker owns the group
    a.broker = two
    leads = await asyncio.gather(a.join(), waiting)
    assert sorted(leads) == [False, True]
    assert list(await asyncio.gather(a.sync(), b.sync())) == ["NONE", "NONE"]
