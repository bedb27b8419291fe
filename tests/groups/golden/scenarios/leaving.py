"""Leaving a classic group, alone and in batches."""

from tests.groups.golden.classic import ClassicMember, form
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script


@scenario()
async def no_group(script: Script) -> None:
    """There is nothing to leave."""
    a = ClassicMember(script, "a")
    for version in range(6):
        await a.leave(version, member_id="nobody")
    await a.leave(others=(("", "i"), ("other", "i")), member_id="nobody")


@scenario()
async def strangers(script: Script) -> None:
    """Who is no member cannot leave."""
    a = ClassicMember(script, "a")
    await form(script, a)
    for version in range(6):
        await a.leave(version, member_id="nobody")
    await a.leave(member_id="")
    await a.leave(2, member_id="")
    await a.leave(member_id="", instance_id="i")
    await a.leave(member_id=a.id, instance_id="i")
    await a.beat()


async def _last(script: Script, version: int) -> None:
    a = ClassicMember(script, "a")
    await form(script, a)
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
    """An empty group goes on counting generations, and may take another type."""
    a = ClassicMember(script, "a")
    await form(script, a)
    await a.leave(reason="for lunch")
    await a.join()
    await a.join(member_id="", protocol_type="connect", reason="back")
    await a.join(protocol_type="connect")
    await a.describe()


@scenario()
async def while_preparing(script: Script) -> None:
    """Who leaves while it waits in a join is answered that it is unknown."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form(script, a, b)
    again = a.join()
    await script.parked(again)
    await a.leave()
    await again
    await b.join()


@scenario()
async def while_completing(script: Script) -> None:
    """Who leaves while it waits in a sync is not answered any more; the group starts over."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form(script, a, b)
    again = a.join()
    await script.parked(again)
    await b.join()
    await again
    waiting = b.sync()
    await script.parked(waiting)
    await b.leave()
    await script.parked(waiting)
    await a.beat()
    await a.sync({a: {"t": [0]}})
    await a.join()
    await script.parked(waiting)
    script.hang_up(waiting)


@scenario()
async def before_joining(script: Script) -> None:
    """Who was given an id and has not come back may leave; a rebalance no longer waits for it."""
    a, b, c = (ClassicMember(script, name) for name in "abc")
    await form(script, a)
    await b.join()
    await c.join()
    again = a.join()
    await script.parked(again)
    await b.leave(2)
    await script.parked(again)
    await c.leave()
    await again
    await b.join()


@scenario()
async def in_batches(script: Script) -> None:
    """A batch may hold members, strangers, static members by name, and the same one twice."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    c, d = ClassicMember(script, "c", instance_id="i"), ClassicMember(script, "d", instance_id="j")
    await form(script, a, b, c, d)
    await b.leave(others=(("nobody", None), (b.id, None), ("", "i"), ("", "k"), ("nobody", "j")))
    await a.beat()
    await a.describe()
    await a.leave(others=((d.id, "j"),))
    await a.describe()


@scenario()
async def by_instance(script: Script) -> None:
    """A static member can be removed by its instance id alone, or by both ids if they belong together."""
    a, b = ClassicMember(script, "a", instance_id="i"), ClassicMember(script, "b", instance_id="j")
    await form(script, a, b)
    await a.leave(3, member_id=b.id)
    await a.leave(3, member_id="nobody")
    await a.leave(3, member_id="", instance_id="k")
    await a.leave(3, member_id="")
    await a.beat()
    await b.leave(2)
    await b.describe()
