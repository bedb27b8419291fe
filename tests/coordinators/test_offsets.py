"""Committed offsets: checked against the group, expired, and deleted with their group."""

import asyncio

import pytest

from dray.groups.stored import Tombstone
from dray.groups.types import GroupError
from dray.meta.port import CommitLimits
from tests.coordinators.builders import (
    ADMIN,
    GROUP,
    SESSION_MS,
    Member,
    Rig,
    committed,
    offset_of,
    simulate,
    simulated,
)


@simulated
async def test_committed_offset_is_visible_at_every_broker(rig: Rig) -> None:
    one, two = await rig.broker(1), await rig.broker(2)
    member = Member(one, "a")
    await member.enter()
    assert await member.commit(7, partition=2) == "NONE"
    assert await committed(two) == {("t", 2): 7}


@simulated
async def test_removed_member_cannot_commit(rig: Rig) -> None:
    one, two = await rig.broker(1), await rig.broker(2)
    member = Member(one, "a")
    await member.enter()
    assert await member.commit(7) == "NONE"
    member.broker = two
    assert await member.leave() == "NONE"
    member.broker = one  # which may not know of the removal yet
    assert await member.commit(8) == "UNKNOWN_MEMBER_ID"
    assert await committed(one) == {("t", 0): 7}


@simulated
async def test_commit_to_unknown_group_creates_it(rig: Rig) -> None:
    broker = await rig.broker()
    offsets = offset_of(broker, 3)
    assert await broker.do(broker.groups.commit(GROUP, ADMIN, offsets)) is GroupError.NONE
    assert [name for name, _ in broker.groups.all()] == [GROUP]
    assert await committed(broker) == {("t", 0): 3}


@simulated
async def test_concurrent_commits_of_one_partition_are_applied_in_order(rig: Rig) -> None:
    broker = await rig.broker()
    for offset in range(3):  # all of them wait for the group to be read
        asyncio.get_running_loop().create_task(
            broker.do(broker.groups.commit(GROUP, ADMIN, offset_of(broker, offset)))
        )
    await asyncio.sleep(1)
    assert set((await committed(broker)).values()) <= {0, 1, 2}
    await broker.do(broker.groups.commit(GROUP, ADMIN, offset_of(broker, 9)))
    assert await committed(broker) == {("t", 0): 9}


@simulated
async def test_deleting_a_group_removes_its_offsets(rig: Rig) -> None:
    one, two = await rig.broker(1), await rig.broker(2)
    member = Member(one, "a")
    await member.enter()
    await member.commit(7)
    assert await one.do(one.groups.delete(GROUP)) is GroupError.NON_EMPTY_GROUP
    await member.leave()
    assert await one.do(one.groups.delete(GROUP)) is GroupError.NONE
    assert await committed(two) == {}
    assert await two.do(two.groups.find(GROUP)) is None
    assert await one.do(one.groups.delete(GROUP)) is GroupError.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("commits", [1, 2, 3])
def test_interrupted_deletion_is_finished_by_the_next_broker(commits: int) -> None:
    async def main(rig: Rig) -> None:
        one = await rig.broker(1)
        for number in range(4):
            await one.do(one.groups.commit(GROUP, ADMIN, offset_of(one, number, number)))
        one.link.hang_after = commits  # the tombstone, the offsets, the end of the tombstone
        deleting = asyncio.create_task(one.do(one.groups.delete(GROUP)))
        await asyncio.sleep(1)
        assert not deleting.done()
        one.node.crash()
        await asyncio.wait([deleting])
        assert deleting.exception() is not None
        two = await rig.broker(2)
        assert await two.do(two.groups.find(GROUP)) is None
        assert await committed(two) == {}

    simulate(main)


@simulated
async def test_unused_offsets_expire_after_the_retention_time(rig: Rig) -> None:
    rig.limits = type(rig.limits)(initial_rebalance_delay_ms=0, offsets_retention_ms=60_000)
    broker = await rig.broker()
    member = Member(broker, "a")
    await member.enter()
    await member.commit(7)
    await asyncio.sleep(SESSION_MS / 1000 + 1)  # its session ends, the group is empty
    await broker.do(broker.expiry.run())
    assert await committed(broker) == {("t", 0): 7}
    await asyncio.sleep(61)
    await broker.do(broker.expiry.run())
    assert await committed(broker) == {}
    assert await broker.do(broker.groups.find(GROUP)) is None


@simulated
async def test_offsets_of_a_deleted_topic_are_removed(rig: Rig) -> None:
    rig.topics.put("u", 1)
    broker = await rig.broker()
    offsets = offset_of(broker, 1) | offset_of(broker, 2, topic="u")
    await broker.do(broker.groups.commit(GROUP, ADMIN, offsets))
    rig.topics.put("u", 1, incarnation=1)
    await broker.do(broker.expiry.run())
    assert await committed(broker) == {("t", 0): 1}


@simulated
async def test_group_with_a_commit_during_its_expiry_is_kept(rig: Rig) -> None:
    one, two = await rig.broker(1), await rig.broker(2)
    await one.do(one.groups.commit(GROUP, ADMIN, offset_of(one, 1, topic="t")))
    rig.topics.put("t", 4, incarnation=1)  # the old offset belongs to a deleted topic
    both = asyncio.gather(
        one.do(one.expiry.run()),
        two.do(two.expiry.run()),
        two.do(two.groups.commit(GROUP, ADMIN, offset_of(two, 5, 1))),
    )
    assert (await both)[2] is GroupError.NONE
    assert (await committed(two)).get(("t", 1)) == 5
    assert await two.do(two.groups.find(GROUP)) is not None


@simulated
async def test_reply_that_changes_nothing_is_checked_against_the_group(rig: Rig) -> None:
    broker = await rig.broker()
    member = Member(broker, "a")
    await member.enter()
    store = broker.groups.store
    known = await store.read(GROUP)
    assert await store.write_offsets(GROUP, known.version, {})
    await member.leave()
    assert not await store.write_offsets(GROUP, known.version, {})


@simulated
async def test_offsets_of_many_partitions_are_committed_in_parts(rig: Rig) -> None:
    rig.topics.put("wide", 40)
    rig.commit_limits = CommitLimits(checks_max=8, writes_max=8, bytes_max=1 << 20)
    broker = await rig.broker()
    offsets = {
        key: offset
        for partition in range(40)
        for key, offset in offset_of(broker, partition, partition, topic="wide").items()
    }
    await broker.do(broker.groups.commit(GROUP, ADMIN, offset_of(broker, 1)))
    assert await broker.do(broker.groups.commit(GROUP, ADMIN, offsets)) is GroupError.NONE
    assert await committed(broker) == {("t", 0): 1} | {("wide", number): number for number in range(40)}


@simulated
async def test_offset_committed_during_its_expiry_is_kept(rig: Rig) -> None:
    broker = await rig.broker()
    member = Member(broker, "a")
    await member.enter()
    await member.commit(7)
    store = broker.groups.store
    known, stale = await store.read(GROUP), await store.offsets(GROUP)
    await member.commit(8)  # the group itself does not change by it
    assert (await store.read(GROUP)).version == known.version
    await store.remove_offsets(GROUP, known.version, stale)
    assert await committed(broker) == {("t", 0): 8}


@simulated
async def test_commit_to_an_empty_group_fails_its_concurrent_removal(rig: Rig) -> None:
    broker = await rig.broker()
    await broker.do(broker.groups.commit(GROUP, ADMIN, offset_of(broker, 1)))
    store = broker.groups.store
    known = await store.read(GROUP)
    await broker.do(broker.groups.commit(GROUP, ADMIN, offset_of(broker, 2)))
    await store.write(GROUP, known.version, Tombstone(), {})
    assert await broker.do(broker.groups.find(GROUP)) is not None
    assert await committed(broker) == {("t", 0): 2}
