"""Heartbeats of classic members, valid and invalid, in each phase of the group."""

from tests.groups.golden.classic import ClassicMember, form_stable_group
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script


async def _invalid_heartbeats(member: ClassicMember) -> None:
    """Heartbeats with every possible error."""
    await member.heartbeat(generation=member.generation - 1)
    await member.heartbeat(generation=member.generation + 1)
    await member.heartbeat(generation=-1)
    await member.heartbeat(member_id="no-member")
    await member.heartbeat(member_id="")
    await member.heartbeat(member_id="no-member", generation=77)
    await member.heartbeat(instance_id="i")
    await member.heartbeat(member_id="no-member", instance_id="i")


@scenario()
async def unknown_group(script: Script) -> None:
    """Heartbeats to a group that does not exist."""
    a = ClassicMember(script, "a")
    for version in range(5):
        await a.heartbeat(version, member_id="no-member", generation=1)
    await a.heartbeat(member_id="no-member", instance_id="i")
    await a.describe()


@scenario()
async def empty(script: Script) -> None:
    """Heartbeats to an empty group."""
    a = ClassicMember(script, "a")
    await form_stable_group(script, a)
    await a.leave()
    await a.describe()
    await _invalid_heartbeats(a)
    await a.heartbeat()


@scenario()
async def stable(script: Script) -> None:
    """Heartbeats to a stable group."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    for version in range(5):
        await a.heartbeat(version)
    await _invalid_heartbeats(a)
    await _invalid_heartbeats(b)


@scenario()
async def preparing(script: Script) -> None:
    """Heartbeats during a rebalance: known members are asked to join."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    again = a.join()
    await script.pending(again)
    for version in range(5):
        await b.heartbeat(version)
    await a.heartbeat()
    await _invalid_heartbeats(b)
    await b.join()
    await again


@scenario()
async def completing(script: Script) -> None:
    """Heartbeats while the group waits for the leader's assignment: no error."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    again = a.join()
    await script.pending(again)
    await b.join()
    await again
    for version in range(5):
        await b.heartbeat(version)
    await _invalid_heartbeats(b)


@scenario()
async def static(script: Script) -> None:
    """A static member may omit its instance id; if it sends one, it must be its own."""
    a = ClassicMember(script, "a", instance_id="i")
    await form_stable_group(script, a)
    await a.heartbeat()
    await a.heartbeat(instance_id=None)
    await a.heartbeat(2, instance_id=None)
    await a.heartbeat(instance_id="j")
    await a.heartbeat(member_id="no-member")
    await a.heartbeat(member_id="")
    await a.heartbeat(member_id="no-member", generation=77)
    await a.heartbeat(generation=77)
