"""Offsets: committed with a look at the group, expired, and gone with their group."""

import asyncio

import pytest

from dray.coordinators.keys import group_key, group_of, offset_key, offsets_range, partition_of
from dray.groups.faults import Fault
from dray.groups.group import Doomed
from tests.coordinators.builders import (
    ADMIN,
    GROUP,
    SESSION_MS,
    Member,
    Rig,
    committed,
    given_offset,
    play,
)


def test_what_a_member_commits_is_there_for_every_broker() -> None:
    async def scene(rig: Rig) -> None:
        one, two = await rig.broker(1), await rig.broker(2)
        member = Member(one, "a")
        await member.enter()
        assert await member.commit(7, partition=2) == "NONE"
        assert await committed(two) == {("t", 2): 7}

    play(scene)


def test_a_member_that_was_put_out_commits_nothing() -> None:
    async def scene(rig: Rig) -> None:
        one, two = await rig.broker(1), await rig.broker(2)
        member = Member(one, "a")
        await member.enter()
        assert await member.commit(7) == "NONE"
        member.broker = two
        assert await member.leave() == "NONE"
        member.broker = one  # where it may not be known yet
        assert await member.commit(8) == "UNKNOWN_MEMBER_ID"
        assert await committed(one) == {("t", 0): 7}

    play(scene)


def test_who_commits_to_no_group_makes_one() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        given = [given_offset(broker, 3)]
        assert await broker.do(broker.groups.commit(GROUP, ADMIN, given)) is Fault.NONE
        assert [name for name, _ in broker.groups.all()] == [GROUP]
        assert await committed(broker) == {("t", 0): 3}

    play(scene)


def test_commits_of_one_partition_at_the_same_time_are_in_order() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        for offset in range(3):  # all wait for the group to be read
            asyncio.get_running_loop().create_task(
                broker.do(broker.groups.commit(GROUP, ADMIN, [given_offset(broker, offset)]))
            )
        await asyncio.sleep(1)
        assert set((await committed(broker)).values()) <= {0, 1, 2}
        await broker.do(broker.groups.commit(GROUP, ADMIN, [given_offset(broker, 9)]))
        assert await committed(broker) == {("t", 0): 9}

    play(scene)


def test_deleting_a_group_removes_its_offsets() -> None:
    async def scene(rig: Rig) -> None:
        one, two = await rig.broker(1), await rig.broker(2)
        member = Member(one, "a")
        await member.enter()
        await member.commit(7)
        assert await one.do(one.groups.delete(GROUP)) is Fault.NON_EMPTY_GROUP
        await member.leave()
        assert await one.do(one.groups.delete(GROUP)) is Fault.NONE
        assert await committed(two) == {}
        assert await two.do(two.groups.find(GROUP)) is None
        assert await one.do(one.groups.delete(GROUP)) is Fault.GROUP_ID_NOT_FOUND

    play(scene)


@pytest.mark.parametrize("commits", [1, 2, 3])
def test_a_deletion_that_was_begun_is_finished_by_whoever_comes_next(commits: int) -> None:
    async def scene(rig: Rig) -> None:
        one = await rig.broker(1)
        await one.do(one.groups.commit(GROUP, ADMIN, [given_offset(one, n, n) for n in range(4)]))
        one.link.dies_after = commits  # the mark, the offsets, the mark's end
        deleting = asyncio.create_task(one.do(one.groups.delete(GROUP)))
        await asyncio.sleep(1)
        assert not deleting.done()
        one.node.crash()
        await asyncio.wait([deleting])
        assert deleting.exception() is not None
        two = await rig.broker(2)
        assert await two.do(two.groups.find(GROUP)) is None
        assert await committed(two) == {}

    play(scene)


def test_offsets_expire_when_nobody_has_used_them_for_long() -> None:
    async def scene(rig: Rig) -> None:
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

    play(scene)


def test_offsets_of_a_topic_that_is_gone_are_removed() -> None:
    async def scene(rig: Rig) -> None:
        rig.topics.put("u", 1)
        broker = await rig.broker()
        given = [given_offset(broker, 1), given_offset(broker, 2, topic="u")]
        await broker.do(broker.groups.commit(GROUP, ADMIN, given))
        rig.topics.put("u", 1, made=1)
        await broker.do(broker.expiry.run())
        assert await committed(broker) == {("t", 0): 1}

    play(scene)


def test_a_group_that_is_committed_to_while_it_expires_stays() -> None:
    async def scene(rig: Rig) -> None:
        one, two = await rig.broker(1), await rig.broker(2)
        await one.do(one.groups.commit(GROUP, ADMIN, [given_offset(one, 1, topic="t")]))
        rig.topics.put("t", 4, made=1)  # the old offset is nobody's any more
        both = asyncio.gather(
            one.do(one.expiry.run()),
            two.do(two.expiry.run()),
            two.do(two.groups.commit(GROUP, ADMIN, [given_offset(two, 5, 1)])),
        )
        assert (await both)[2] is Fault.NONE
        assert (await committed(two)).get(("t", 1)) == 5
        assert await two.do(two.groups.find(GROUP)) is not None

    play(scene)


def test_any_name_makes_a_key() -> None:
    for name in ("", "g", "a/b", "%", "%25", "~", "ü n i", "x" * 300, "\x00", "/"):
        key = group_key(name)
        assert group_of(key) == name
        assert key.count("/") == group_key("g").count("/")
        assert partition_of(offset_key(name, "t.o-p_ic", 12)) == ("t.o-p_ic", 12)


@pytest.mark.parametrize("topic", ["-x", ".x", "0x", "_x", "Zx", "zx"])
def test_the_scan_of_a_group_holds_every_topic_there_can_be(topic: str) -> None:
    start, end = offsets_range("g")
    assert start < offset_key("g", topic, 0) < end
    start, end = offsets_range("g", topic)
    assert start < offset_key("g", topic, 0) < end
    assert not start < offset_key("g", f"{topic}-", 0) < end


def test_an_offset_that_is_committed_while_it_expires_stays() -> None:
    async def scene(rig: Rig) -> None:
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

    play(scene)


def test_who_is_about_to_remove_an_empty_group_notices_a_commit() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        await broker.do(broker.groups.commit(GROUP, ADMIN, [given_offset(broker, 1)]))
        store = broker.groups.store
        known = await store.read(GROUP)
        await broker.do(broker.groups.commit(GROUP, ADMIN, [given_offset(broker, 2)]))
        await store.write(GROUP, known.version, Doomed(), ())
        assert await broker.do(broker.groups.find(GROUP)) is not None
        assert await committed(broker) == {("t", 0): 2}

    play(scene)
