"""Leaving a classic group, alone and in batches."""

from tests.groups.golden.classic import ClassicMember, form_stable_group
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script


@scenario()
async def unknown_group(script: Script) -> None:
    """Leaving a group that does not exist."""
    a = ClassicMember(script, "a")
    for version in range(6):
        await a.leave(version, member_id="no-member")
    await a.leave(others=(("", "i"), ("other", "i")), member_id="no-member")


@scenario()
async def unknown_members(script: Script) -> None:
    """Only members can leave."""
    a = ClassicMember(script, "a")
    await form_stable_group(script, a)
    for version in range(6):
        await a.leave(version, member_id="no-member")
    await a.leave(member_id="")
    await a.leave(2, member_id="")
    await a.leave(member_id="", instance_id="i")
    await a.leave(member_id=a.id, instance_id="i")
    await a.heartbeat()


async def _last(script: Script, version: int) -> None:
    a = ClassicMember(script, "a")
    await form_stable_group(script, a)
    await a.leave(version)
    await a.describe()
    await a.leave(version)


@scenario()
async def last_v0(script: Script) -> None:
    """The last member leaves in version 0: the group is empty, in the next generation."""
    await _last(script, 0)


@scenario()
async def last_v3(script: Script) -> None:
    """The last member leaves in version 3, the first with batches."""
    await _last(script, 3)


@scenario()
async def last_v5(script: Script) -> None:
    """The last member leaves in version 5."""
    await _last(script, 5)


@scenario()
async def and_returning(script: Script) -> None:
    """Generations continue in an empty group, which may take another protocol type."""
    a = ClassicMember(script, "a")
    await form_stable_group(script, a)
    await a.leave(reason="for lunch")
    await a.join()
    await a.join(member_id="", protocol_type="connect", reason="back")
    await a.join(protocol_type="connect")
    await a.describe()


@scenario()
async def while_preparing(script: Script) -> None:
    """A member that leaves while its join is pending gets UNKNOWN_MEMBER_ID."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    again = a.join()
    await script.pending(again)
    await a.leave()
    await again
    await b.join()


@scenario()
async def while_completing(script: Script) -> None:
    """A member that leaves while its sync is pending gets no reply to it; the group rebalances."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    again = a.join()
    await script.pending(again)
    await b.join()
    await again
    waiting = b.sync()
    await script.pending(waiting)
    await b.leave()
    await script.pending(waiting)
    await a.heartbeat()
    await a.sync({a: {"t": [0]}})
    await a.join()
    await script.pending(waiting)
    script.hang_up(waiting)


@scenario()
async def before_joining(script: Script) -> None:
    """An assigned id that was not used yet may leave; a rebalance no longer waits for it."""
    a, b, c = (ClassicMember(script, name) for name in "abc")
    await form_stable_group(script, a)
    await b.join()
    await c.join()
    again = a.join()
    await script.pending(again)
    await b.leave(2)
    await script.pending(again)
    await c.leave()
    await again
    await b.join()


@scenario()
async def in_batches(script: Script) -> None:
    """A batch may contain members, unknown ids, static members by instance id, and duplicates."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    c, d = ClassicMember(script, "c", instance_id="i"), ClassicMember(script, "d", instance_id="j")
    await form_stable_group(script, a, b, c, d)
    await b.leave(others=(("no-member", None), (b.id, None), ("", "i"), ("", "k"), ("no-member", "j")))
    await a.heartbeat()
    await a.describe()
    await a.leave(others=((d.id, "j"),))
    await a.describe()


@scenario()
async def by_instance(script: Script) -> None:
    """A static member can be removed by its instance id alone, or by both ids if they match."""
    a, b = ClassicMember(script, "a", instance_id="i"), ClassicMember(script, "b", instance_id="j")
    await form_stable_group(script, a, b)
    await a.leave(3, member_id=b.id)
    await a.leave(3, member_id="no-member")
    await a.leave(3, member_id="", instance_id="k")
    await a.leave(3, member_id="")
    await a.heartbeat()
    await b.leave(2)
    await b.describe()
