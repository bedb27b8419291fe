"""Heartbeats of a classic group, right and wrong, in each state."""

from tests.groups.golden.classic import ClassicMember, form
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script


async def _wrong(member: ClassicMember) -> None:
    """Everything that can be wrong about a heartbeat."""
    await member.beat(generation=member.generation - 1)
    await member.beat(generation=member.generation + 1)
    await member.beat(generation=-1)
    await member.beat(member_id="nobody")
    await member.beat(member_id="")
    await member.beat(member_id="nobody", generation=77)
    await member.beat(instance_id="i")
    await member.beat(member_id="nobody", instance_id="i")


@scenario()
async def no_group(script: Script) -> None:
    """Nobody is a member of a group that is not there."""
    a = ClassicMember(script, "a")
    for version in range(5):
        await a.beat(version, member_id="nobody", generation=1)
    await a.beat(member_id="nobody", instance_id="i")
    await a.describe()


@scenario()
async def empty(script: Script) -> None:
    """Nobody is a member of an empty group."""
    a = ClassicMember(script, "a")
    await form(script, a)
    await a.leave()
    await a.describe()
    await _wrong(a)
    await a.beat()


@scenario()
async def stable(script: Script) -> None:
    """In a stable group."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form(script, a, b)
    for version in range(5):
        await a.beat(version)
    await _wrong(a)
    await _wrong(b)


@scenario()
async def preparing(script: Script) -> None:
    """While the group waits for its members: those who are known are told to join."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form(script, a, b)
    again = a.join()
    await script.parked(again)
    for version in range(5):
        await b.beat(version)
    await a.beat()
    await _wrong(b)
    await b.join()
    await again


@scenario()
async def completing(script: Script) -> None:
    """While the group waits for its leader to assign: nothing to report."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form(script, a, b)
    again = a.join()
    await script.parked(again)
    await b.join()
    await again
    for version in range(5):
        await b.beat(version)
    await _wrong(b)


@scenario()
async def static(script: Script) -> None:
    """A static member may leave its instance id out; if it says one, it must be the one it has."""
    a = ClassicMember(script, "a", instance_id="i")
    await form(script, a)
    await a.beat()
    await a.beat(instance_id=None)
    await a.beat(2, instance_id=None)
    await a.beat(instance_id="j")
    await a.beat(member_id="nobody")
    await a.beat(member_id="")
    await a.beat(member_id="nobody", generation=77)
    await a.beat(generation=77)
