"""Committed offsets of classic groups and of unknown groups."""

from dray.wire.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.groups.golden.classic import ClassicMember, form_stable_group
from tests.groups.golden.client import Client
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import create_topic, delete_topic

COMMITS = range(2, 10)
FETCHES = range(1, 10)


@scenario()
async def without_group(script: Script) -> None:
    """Any client may commit to an unknown group, which creates it, in every version."""
    await create_topic(script, partitions=2)
    for version in COMMITS:
        reader = Client(script, "reader", f"g{version}")
        await reader.commit({"t": {0: version, 1: 0}}, version, metadata="note")
    reader = Client(script, "reader", "g9")
    for version in FETCHES:
        await reader.fetch({"t": [0, 1]}, version)
    await reader.describe()
    await reader.list_groups()


@scenario()
async def nothing_committed(script: Script) -> None:
    """A missing offset is -1, for known and unknown groups and partitions."""
    await create_topic(script)
    reader = Client(script, "reader")
    for version in FETCHES:
        await reader.fetch({"t": [0, 7], "nowhere": [0]}, version)
    for version in range(2, 10):
        await reader.fetch(None, version)
    await reader.describe()


@scenario()
async def all_topics(script: Script) -> None:
    """All committed offsets of a group can be fetched at once, from version 2 on."""
    for topic in ("t", "u"):
        await create_topic(script, topic, 2)
    reader = Client(script, "reader")
    await reader.commit({"t": {0: 5, 1: 6}, "u": {1: 7}}, metadata=None, leader_epoch=0)
    for version in range(2, 10):
        await reader.fetch(None, version)
    await reader.fetch({}, 9)
    await reader.fetch({}, 2)
    await reader.fetch({"t": []}, 9)


@scenario()
async def by_topic_id(script: Script) -> None:
    """From version 10 on, topics are identified by id."""
    await create_topic(script)
    reader = Client(script, "reader")
    await reader.commit({"t": {0: 5, 9: 5}, "nowhere": {0: 1}}, 10)
    await reader.fetch({"t": [0, 9], "nowhere": [0]}, 10)
    await reader.fetch(None, 10)
    await reader.fetch({"t": [0]}, 9)
    await delete_topic(script, "t")
    await reader.fetch({"t": [0]}, 10)
    await create_topic(script)
    await reader.fetch({"t": [0]}, 10)
    await reader.fetch({"t": [0]}, 9)
    await reader.commit({"t": {0: 2}}, 10)
    await reader.fetch({"t": [0]}, 10)


@scenario()
async def unknown_topics(script: Script) -> None:
    """Offsets of unknown topics and partitions are rejected, others in the same request accepted."""
    await create_topic(script)
    reader = Client(script, "reader")
    for version in (2, 5, 9):
        await reader.commit({"t": {0: version, 1: 5, -1: 5}, "nowhere": {0: 5}}, version)
        await reader.fetch(None, 9)
    await reader.commit({"nowhere": {0: 5}}, 9)
    await reader.commit({}, 9)


@scenario()
async def long_metadata(script: Script) -> None:
    """Metadata may have 4096 characters; a longer one is rejected for its partition."""
    await create_topic(script, partitions=2)
    reader = Client(script, "reader")
    await reader.commit({"t": {0: 1}}, metadata="x" * 4096)
    await reader.commit({"t": {1: 1}}, metadata="x" * 4097)
    await reader.commit({"t": {1: 1}}, metadata="ä" * 2048)
    await reader.commit({"t": {1: 1}}, metadata="ä" * 4096)
    await reader.commit({"t": {1: 1}}, metadata="ä" * 4097)
    await reader.fetch({"t": [0, 1]})


@scenario()
async def odd_offsets(script: Script) -> None:
    """Any offset value is stored."""
    await create_topic(script)
    reader = Client(script, "reader")
    for offset in (-1, -2, 2**63 - 1, -(2**63)):
        await reader.commit({"t": {0: offset}})
        await reader.fetch({"t": [0]})
    await reader.commit({"t": {0: 3}}, leader_epoch=77)
    await reader.fetch({"t": [0]})
    await reader.commit({"t": {0: 3}}, 5)
    await reader.fetch({"t": [0]})
    await reader.commit({"t": {0: 4}}, 2, retention_ms=60_000)
    await reader.commit({"t": {0: 5}}, 4, retention_ms=0)
    await reader.fetch({"t": [0]})


@scenario()
async def generations_of_an_unknown_group(script: Script) -> None:
    """A commit with a generation to an unknown group is an error; which one depends on the version."""
    await create_topic(script)
    reader = Client(script, "reader")
    for version in COMMITS:
        await reader.commit({"t": {0: 1}}, version, epoch=0)
        await reader.commit({"t": {0: 1}}, version, epoch=5, member_id="other-member")
    await reader.commit({"t": {0: 1}}, epoch=-1, member_id="other-member")
    await reader.fetch({"t": [0]})
    await reader.commit({"t": {0: 1}}, epoch=-1, member_id="other-member", instance_id="i")
    await reader.commit({"t": {0: 1}}, epoch=0)


async def _claims(member: ClassicMember) -> None:
    """Commits with every kind of identity, valid or not."""
    await member.commit({"t": {0: 2}})
    await member.commit({"t": {0: 2}}, 6, epoch=member.generation)
    await member.commit({"t": {0: 2}}, epoch=member.generation)
    await member.commit({"t": {0: 2}}, member_id=member.id)
    await member.commit({"t": {0: 2}}, epoch=member.generation, member_id="no-member")
    await member.commit({"t": {0: 2}}, epoch=member.generation + 1, member_id=member.id)
    await member.commit({"t": {0: 2}}, epoch=member.generation - 1, member_id=member.id)
    await member.commit({"t": {0: 2}}, epoch=member.generation, member_id=member.id, instance_id="i")
    await member.fetch(None)


@scenario()
async def of_an_empty_group(script: Script) -> None:
    """An empty group accepts offsets of any client that claims no membership."""
    await create_topic(script)
    a = ClassicMember(script, "a")
    await form_stable_group(script, a)
    await a.commit_as_member({"t": {0: 1}})
    await a.leave()
    await _claims(a)
    await a.commit_as_member({"t": {0: 3}})


@scenario()
async def of_a_stable_group(script: Script) -> None:
    """A stable group accepts offsets of its members only."""
    await create_topic(script)
    a = ClassicMember(script, "a")
    await form_stable_group(script, a)
    for version in COMMITS:
        await a.commit_as_member({"t": {0: version}}, version)
        await a.fetch({"t": [0]})
    await _claims(a)
    await a.fetch({"t": [0]}, member_id="no-member", epoch=77)


@scenario()
async def of_a_preparing_group(script: Script) -> None:
    """During a rebalance members may still commit with the ending generation."""
    await create_topic(script)
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    again = a.join()
    await script.pending(again)
    await b.commit_as_member({"t": {0: 1}})
    await a.commit_as_member({"t": {0: 2}}, 3)
    await _claims(b)
    await b.join()
    await again


@scenario()
async def of_a_completing_group(script: Script) -> None:
    """While the group waits for the assignment, commits are rejected with REBALANCE_IN_PROGRESS."""
    await create_topic(script)
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    again = a.join()
    await script.pending(again)
    await b.join()
    await again
    await b.commit_as_member({"t": {0: 1}})
    await b.commit_as_member({"t": {0: 1}}, 4)
    await _claims(b)


@scenario()
async def keep_alive(script: Script) -> None:
    """A commit counts as a heartbeat, in a stable group."""
    await create_topic(script)
    a = ClassicMember(script, "a", session_ms=3_000)
    await form_stable_group(script, a)
    for offset in range(4):
        await script.wait(1.5)
        await a.commit_as_member({"t": {0: offset}})
    await a.heartbeat()
    await script.wait(4)
    await a.commit_as_member({"t": {0: 77}})


@scenario()
async def empty_name(script: Script) -> None:
    """The group with an empty name may have offsets."""
    await create_topic(script)
    reader = Client(script, "reader", "")
    await reader.commit({"t": {0: 1}})
    await reader.fetch({"t": [0]})
    await reader.fetch({"t": [0]}, 5)
    await reader.describe()
    await reader.delete_offsets({"t": [0]})
    await reader.delete()


@scenario()
async def several_groups(script: Script) -> None:
    """From version 8 on, one request may fetch from several groups."""
    await create_topic(script)
    one, two = Client(script, "reader", "one"), Client(script, "reader", "two")
    await one.commit({"t": {0: 1}})
    await two.commit({"t": {0: 2}})
    own = script.names.own
    asked = [OffsetFetchRequestTopics(name=own("t"), partition_indexes=[0])]
    groups = [
        OffsetFetchRequestGroup(group_id=own("one"), topics=asked),
        OffsetFetchRequestGroup(group_id=own("two"), topics=None),
        OffsetFetchRequestGroup(group_id=own("three"), topics=asked),
        OffsetFetchRequestGroup(group_id=own("three"), topics=None),
    ]
    for version in (8, 9):
        await one.ask(OffsetFetchRequest(groups=groups), version)
        await one.ask(OffsetFetchRequest(groups=groups, require_stable=True), version)


@scenario()
async def deleted_topic(script: Script) -> None:
    """Committed offsets are deleted with their topic."""
    await create_topic(script)
    reader = Client(script, "reader")
    await reader.commit({"t": {0: 1}})
    await delete_topic(script, "t")
    await script.pause(1)
    await reader.fetch({"t": [0]})
    await reader.fetch(None)
    await reader.commit({"t": {0: 2}})


@scenario()
async def deleting(script: Script) -> None:
    """Offsets of a group without members can be deleted, even missing ones."""
    await create_topic(script, partitions=2)
    reader = Client(script, "reader")
    await reader.delete_offsets({"t": [0]})
    await reader.commit({"t": {0: 1, 1: 2}})
    await reader.delete_offsets({"t": [0, 7], "nowhere": [0]})
    await reader.delete_offsets({})
    await reader.fetch(None)
    await reader.delete_offsets({"t": [0, 1]})
    await reader.fetch(None)
    await reader.describe()


@scenario()
async def deleting_with_members(script: Script) -> None:
    """Offsets of topics that a consumer subscribes to cannot be deleted, in any state."""
    for topic in ("t", "u"):
        await create_topic(script, topic)
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a)
    await a.commit_as_member({"t": {0: 1}, "u": {0: 2}})
    await a.delete_offsets({"t": [0], "u": [0]})
    await a.fetch(None)
    joining = b.join(3)
    await script.pending(joining)
    await a.delete_offsets({"t": [0], "u": [0]})
    await a.join()
    await joining
    await a.delete_offsets({"t": [0], "u": [0]})
    await a.leave()
    await b.leave()
    await a.delete_offsets({"t": [0], "u": [0]})
    await a.fetch(None)


@scenario()
async def deleting_of_other_protocol_types(script: Script) -> None:
    """The topics of other protocol types are unknown: none of their offsets can be deleted."""
    await create_topic(script)
    a = ClassicMember(script, "a", protocols={"v1": b"opaque"})
    await a.join(3, protocol_type="connect")
    await a.sync({a: b"opaque"})
    await a.commit_as_member({"t": {0: 1}})
    await a.delete_offsets({"t": [0]})
    await a.leave()
    await a.delete_offsets({"t": [0]})


@scenario()
async def deleting_with_malformed_subscription(script: Script) -> None:
    """A consumer with a malformed subscription counts as subscribed to every topic."""
    await create_topic(script)
    for number, metadata in enumerate((b"", b"\x00", b"\x00\x00", b"\xff\xff\x00\x00\x00\x00")):
        a = ClassicMember(script, "a", protocols={"range": metadata}, group=f"g{number}")
        await a.join(3)
        await a.sync({a: b"opaque"})
        await a.commit_as_member({"t": {0: 1}})
        await a.delete_offsets({"t": [0]})
    b = ClassicMember(script, "b", protocols={"range": b"\x00\x01rubbish"}, group="rubbish")
    joining = b.join(3)
    await script.pending(joining)
    script.hang_up(joining)
