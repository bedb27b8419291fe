"""Committed offsets of consumer protocol groups."""

from tests.groups.golden.client import Client
from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import create_topic


@scenario()
async def versions(script: Script) -> None:
    """Members commit from version 9 on; any client may fetch in any version."""
    await create_topic(script)
    a = ConsumerMember(script, "a")
    await a.join()
    for version in range(2, 11):
        await a.commit_as_member({"t": {0: version}}, version)
    for version in range(1, 11):
        await a.fetch({"t": [0]}, version)
    for version in (9, 10):
        await a.fetch_as_member({"t": [0]}, version)


@scenario()
async def commit_permission(script: Script) -> None:
    """Only members may commit while there are any; the epoch must not be ahead."""
    await create_topic(script)
    a = ConsumerMember(script, "a")
    await a.join()
    known = a.epoch
    await a.commit({"t": {0: 1}})
    await a.commit({"t": {0: 1}}, 5)
    await a.commit({"t": {0: 1}}, epoch=known)
    await a.commit({"t": {0: 1}}, member_id="a")
    await a.commit({"t": {0: 1}}, epoch=known, member_id="no-member")
    await a.commit({"t": {0: 1}}, epoch=known + 1, member_id="a")
    await a.commit({"t": {0: 1}}, epoch=known - 1, member_id="a")
    await a.commit({"t": {0: 1}}, epoch=0, member_id="a")
    await a.commit({"t": {0: 1}}, epoch=-2, member_id="a")
    await a.commit({"t": {0: 1}}, epoch=known, member_id="a", instance_id="i")
    await a.fetch(None)
    await a.leave()
    await a.commit({"t": {0: 5}})
    await a.commit({"t": {0: 6}}, epoch=known, member_id="a")
    await a.commit({"t": {0: 6}}, epoch=known)
    await a.fetch(None)


@scenario()
async def fetch_permission(script: Script) -> None:
    """A client that fetches as a member must be one; others may fetch."""
    await create_topic(script)
    a = ConsumerMember(script, "a")
    await a.join()
    known = a.epoch
    await a.commit_as_member({"t": {0: 1}})
    for parts in ({"t": [0]}, None):
        await a.fetch(parts, member_id="a", epoch=known)
        await a.fetch(parts, member_id="a", epoch=known + 1)
        await a.fetch(parts, member_id="a", epoch=known - 1)
        await a.fetch(parts, member_id="a", epoch=-1)
        await a.fetch(parts, member_id="no-member", epoch=known)
        await a.fetch(parts, member_id="", epoch=known)
        await a.fetch(parts, epoch=known)
        await a.fetch(parts, member_id="")
    await a.leave()
    await a.fetch(None, member_id="a", epoch=known)
    await a.fetch(None, member_id="a", epoch=known, version=8)
    await Client(script, "b", "nowhere").fetch(None, member_id="a", epoch=known)


@scenario()
async def of_an_older_epoch(script: Script) -> None:
    """An older epoch may commit partitions that it was assigned by then and still has (KIP-1251)."""
    await create_topic(script, partitions=4)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    first = a.epoch
    await b.join()
    await a.heartbeat()
    await a.commit_as_member({"t": {0: 1, 3: 1}}, epoch=first)
    await a.confirm()
    await b.heartbeat()
    await a.commit_as_member({"t": {0: 2}}, epoch=first)
    await a.commit_as_member({"t": {0: 3, 1: 3}}, epoch=first)
    await a.commit_as_member({"t": {3: 4}}, epoch=first)
    await a.commit_as_member({"t": {0: 5, 3: 5}}, epoch=first)
    await a.commit_as_member({"t": {0: 6}}, epoch=0)
    await a.commit_as_member({"t": {3: 7}}, epoch=first + 1)
    await b.commit_as_member({"t": {2: 8}}, epoch=first)
    await b.commit_as_member({"t": {2: 9}}, epoch=first + 1)
    await a.fetch_as_member(None, epoch=first)
    await a.fetch_as_member(None)


@scenario()
async def of_an_older_epoch_by_id(script: Script) -> None:
    """The same by topic id, including unknown topics."""
    await create_topic(script, partitions=4)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    first = a.epoch
    await b.join()
    await a.heartbeat()
    await a.confirm()
    await b.heartbeat()
    await a.commit_as_member({"t": {0: 1}}, 10, epoch=first)
    await a.commit_as_member({"t": {0: 2, 3: 2}}, 10, epoch=first)
    await a.commit_as_member({"t": {0: 3, 77: 3}, "nowhere": {0: 3}}, 10, epoch=first)
    await a.commit_as_member({"nowhere": {0: 4}}, 10, epoch=first)
    await a.fetch(None)


@scenario()
async def of_a_returned_static_member(script: Script) -> None:
    """A static member that returned commits with its own epoch; its predecessor may not."""
    await create_topic(script, partitions=2)
    a = ConsumerMember(script, "a", instance_id="i")
    await a.join()
    known = a.epoch
    await a.commit_as_member({"t": {0: 1}})
    await a.leave_temporarily()
    await a.commit_as_member({"t": {0: 2}}, epoch=known)
    await a.commit_as_member({"t": {0: 2}})
    b = ConsumerMember(script, "b", instance_id="i")
    await b.join()
    await a.commit_as_member({"t": {0: 3}}, epoch=known)
    await b.commit_as_member({"t": {0: 4}})
    await b.commit_as_member({"t": {0: 5}}, epoch=0)
    await b.fetch(None)


@scenario()
async def deleting(script: Script) -> None:
    """Offsets of subscribed topics cannot be deleted, others can."""
    await create_topic(script, "t")
    await create_topic(script, "u")
    a = ConsumerMember(script, "a")
    await a.join()
    await a.commit_as_member({"t": {0: 1}, "u": {0: 2}})
    await a.delete_offsets({"t": [0], "u": [0]})
    await a.fetch(None)
    await a.leave()
    await a.delete_offsets({"t": [0]})
    await a.fetch(None)
