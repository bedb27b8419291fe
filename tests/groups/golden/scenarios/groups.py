"""Describing, listing and deleting classic groups."""

from tests.groups.golden.classic import ClassicMember, form_stable_group
from tests.groups.golden.client import Client
from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import create_topic

DESCRIBES = range(7)


@scenario()
async def describing_unknown_groups(script: Script) -> None:
    """An unknown group is dead; from version 6 on that is an error."""
    admin = Client(script, "admin")
    for version in DESCRIBES:
        await admin.describe(version=version)
    await admin.describe("", version=5)
    await admin.describe("", version=6)


async def _described(member: ClassicMember) -> None:
    for version in DESCRIBES:
        await member.describe(version=version)


@scenario()
async def describing_a_stable_group(script: Script) -> None:
    """A stable group is described with what its members sent, in every version."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b", instance_id="i")
    await form_stable_group(script, a, b)
    await _described(a)
    await a.describe("g", "nowhere", "g")


@scenario()
async def describing_a_preparing_group(script: Script) -> None:
    """During a rebalance no protocol is shown."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b", instance_id="i")
    await form_stable_group(script, a, b)
    again = a.join()
    await script.pending(again)
    await _described(a)
    await b.join()
    await again


@scenario()
async def describing_a_completing_group(script: Script) -> None:
    """While the group waits for the assignment, no protocol is shown either."""
    a = ClassicMember(script, "a")
    await a.join(3)
    await _described(a)


@scenario()
async def describing_an_empty_group(script: Script) -> None:
    """An empty group keeps its protocol type."""
    a = ClassicMember(script, "a")
    await form_stable_group(script, a)
    await a.leave()
    await _described(a)


@scenario()
async def authorized_operations(script: Script) -> None:
    """The authorized operations of a group, if requested: all of them, without ACLs."""
    await form_stable_group(script, ClassicMember(script, "a", group="classic"))
    await ConsumerMember(script, "c", group="consumer").join(())
    admin = Client(script, "admin")
    for version in range(3, 7):
        await admin.describe("classic", "nowhere", version=version, allowed=True)
    for version in range(2):
        await admin.describe_consumer("consumer", "nowhere", version=version, allowed=True)


@scenario()
async def listing(script: Script) -> None:
    """Groups in each state, by versions and filters."""
    await create_topic(script)
    stable, preparing, completing, empty = (
        ClassicMember(script, name, group=name) for name in ("stable", "preparing", "completing", "empty")
    )
    other = ClassicMember(script, "other", group="preparing")
    for member in (stable, preparing, empty):
        await form_stable_group(script, member)
    await empty.leave()
    await completing.join(3)
    joining = other.join(3)
    await script.pending(joining)
    await Client(script, "reader", "offsets").commit({"t": {0: 1}})
    await ConsumerMember(script, "c", group="consumer").join()
    admin = Client(script, "admin")
    for version in range(6):
        await admin.list_groups(version=version)
    for states in (["Stable"], ["stable", "EMPTY"], ["PreparingRebalance"], ["Dead"], ["Nonsense"], [""]):
        await admin.list_groups(states, version=4)
    for types in (["classic"], ["Consumer"], ["nonsense"], ["share"], ["classic", "consumer"]):
        await admin.list_groups(types=types)
    await admin.list_groups(["Stable"], ["consumer"])
    await preparing.join()
    await joining


@scenario()
async def deleting(script: Script) -> None:
    """Only a group without members can be deleted; its offsets are deleted with it."""
    await create_topic(script)
    a = ClassicMember(script, "a")
    for version in range(3):
        await a.delete(version=version)
    await form_stable_group(script, a)
    await a.commit_as_member({"t": {0: 1}})
    for version in range(3):
        await a.delete(version=version)
    again = a.join()
    await again
    await a.delete()
    await a.leave()
    await a.delete("g", "nowhere", "g", "")
    await a.describe()
    await a.fetch(None)
    await a.list_groups()
    await a.join(3, member_id="")


@scenario()
async def deleting_a_preparing_group(script: Script) -> None:
    """A group in a rebalance has members."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    again = a.join()
    await script.pending(again)
    await a.delete()
    await b.join()
    await again


@scenario()
async def deleting_one_with_pending_members(script: Script) -> None:
    """A group with assigned ids but without members can be deleted."""
    a = ClassicMember(script, "a")
    await a.join()
    await a.delete()
    await a.join()


@scenario()
async def deleting_one_with_offsets_only(script: Script) -> None:
    """A group that consists of offsets alone can be deleted."""
    await create_topic(script)
    reader = Client(script, "reader")
    await reader.commit({"t": {0: 1}})
    await reader.delete()
    await reader.fetch(None)
    await reader.delete()
