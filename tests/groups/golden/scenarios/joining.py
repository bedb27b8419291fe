"""Joining a classic group for the first time."""

from tests.groups.golden.classic import ClassicMember, form
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import make_topic


async def _whole_life(script: Script, join: int, sync: int, beat: int, leave: int) -> None:
    a = ClassicMember(script, "a")
    if join >= 4:
        await a.join(join)
    await a.join(join)
    await a.sync({a: {"t": [0]}}, sync)
    await a.beat(beat)
    await a.leave(leave)
    await a.beat(beat)


@scenario()
async def version_0(script: Script) -> None:
    """The oldest versions: no rebalance timeout, and a member is let in without having to know its id."""
    await _whole_life(script, 0, 0, 0, 0)


@scenario()
async def version_2(script: Script) -> None:
    """Old versions."""
    await _whole_life(script, 2, 1, 1, 1)


@scenario()
async def version_3(script: Script) -> None:
    """The last version that lets in whoever has no id."""
    await _whole_life(script, 3, 2, 2, 2)


@scenario()
async def version_4(script: Script) -> None:
    """The first version in which a member has to come back with its id."""
    await _whole_life(script, 4, 2, 2, 3)


@scenario()
async def version_5(script: Script) -> None:
    """The first version that knows instance ids."""
    await _whole_life(script, 5, 3, 3, 3)


@scenario()
async def version_6(script: Script) -> None:
    """The first flexible version."""
    await _whole_life(script, 6, 4, 4, 4)


@scenario()
async def version_7(script: Script) -> None:
    """The first version that tells the type of the protocol."""
    await _whole_life(script, 7, 5, 4, 5)


@scenario()
async def version_9(script: Script) -> None:
    """Today's version."""
    await _whole_life(script, 9, 5, 4, 5)


@scenario()
async def two_members(script: Script) -> None:
    """A second member joins a stable group: the first is told to join again and keeps leading."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await a.join()
    await a.join()
    await a.sync({a: {"t": [0]}})
    await b.join()
    await a.beat()
    joining = b.join()
    await script.parked(joining)
    await a.beat()
    await a.join()
    await joining
    following = b.sync()
    await script.parked(following)
    await a.sync({a: {"t": [0]}, b: {"t": [1]}})
    await following
    await a.beat()
    await b.beat()
    await a.describe()


@scenario()
async def three_members(script: Script) -> None:
    """Three members, of three versions; every answer is in the version of its question."""
    a, b, c = (ClassicMember(script, name) for name in "abc")
    await form(script, a, b)
    joining = c.join(3)
    await script.parked(joining)
    again = b.join(5)
    await script.parked(again)
    await a.join(9)
    await script.answered(again, joining)
    waiting = [b.sync(version=3)]
    await script.parked(waiting[0])
    waiting.append(c.sync(version=0))
    await script.parked(waiting[1])
    await a.sync({a: {"t": [0]}, b: {"t": [1]}})
    await script.answered(*waiting)


@scenario()
async def old_version_waits(script: Script) -> None:
    """A member of version 3 joins a stable group: it gets its id only when the others have joined."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form(script, a)
    joining = b.join(3)
    await script.parked(joining)
    await a.describe()
    await a.join()
    await joining


@scenario()
async def pending_member_returns(script: Script) -> None:
    """One who was given an id is no member yet: it may not beat, sync or commit, but it may join."""
    await make_topic(script)
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form(script, a)
    await b.join()
    await b.beat(generation=1)
    await b.sync(generation=1, protocol="range")
    await b.commit_mine({"t": {0: 1}}, generation=1)
    await a.describe()
    joining = b.join()
    await script.parked(joining)
    await a.join()
    await joining


@scenario()
async def pending_member_times_out(script: Script) -> None:
    """One who was given an id and does not come back within its session is forgotten."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b", session_ms=1_500)
    await form(script, a)
    await b.join()
    await script.wait(3)
    await b.join()


@scenario()
async def pending_member_holds_up(script: Script) -> None:
    """A rebalance waits for one who was given an id, until its session is over."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b", session_ms=3_000)
    await form(script, a)
    await b.join()
    again = a.join()
    await script.parked(again)
    await script.wait(4)
    await again
    await b.join()


@scenario()
async def pending_member_of_an_empty_group(script: Script) -> None:
    """A group is there as soon as somebody has asked for an id, and stays when nobody comes back."""
    a = ClassicMember(script, "a", session_ms=1_500)
    await a.join()
    await a.describe()
    await a.list_groups()
    await script.wait(3)
    await a.describe()
    await a.join()


@scenario()
async def strangers(script: Script) -> None:
    """Whoever comes with an id that was not given out is unknown, with a group or without."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    for version in (0, 4, 7, 9):
        await b.join(version, member_id="nobody")
    await b.join(member_id="nobody", instance_id="i")
    await form(script, a)
    for version in (0, 4, 7, 9):
        await b.join(version, member_id="nobody")
    await b.join(member_id="nobody", instance_id="i")
    await b.join(5, member_id=a.id, instance_id="i")


@scenario()
async def no_group_id(script: Script) -> None:
    """A group must have a name."""
    a = ClassicMember(script, "a", group="")
    for version in (0, 5, 9):
        await a.join(version)
    await a.sync(generation=1)
    await a.beat(generation=1)
    await a.leave()
    await a.leave(2)


@scenario()
async def session_out_of_bounds(script: Script) -> None:
    """Sessions that are too short or too long are refused; the limits themselves are not."""
    for session_ms in (0, -1, 499, 1_800_001, 2**31 - 1):
        await ClassicMember(script, "a", session_ms=session_ms).join()
        await ClassicMember(script, "a", session_ms=session_ms).join(3)
    await ClassicMember(script, "a", session_ms=500).join()
    await ClassicMember(script, "a", session_ms=1_800_000).join()


@scenario()
async def protocols_of_the_first(script: Script) -> None:
    """The first member must name a type and a protocol."""
    a = ClassicMember(script, "a")
    for version in (3, 9):
        await a.join(version, protocols={})
        await a.join(version, protocol_type="", protocols={"range": ("t",)})
        await a.join(version, protocol_type="", protocols={})
    await a.describe()


@scenario()
async def protocols_of_others(script: Script) -> None:
    """Later members must have the group's type and one protocol that all have."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form(script, a)
    for version in (3, 6, 7, 9):
        await b.join(version, protocol_type="connect")
        await b.join(version, protocols={"sticky": ("t",)})
        await b.join(version, protocols={})
    await a.join(protocols={"sticky": ("t",)}, protocol_type="connect")
    await a.beat()


@scenario()
async def common_protocol(script: Script) -> None:
    """A protocol must be common to all, not to some: two members leave room only for what both have."""
    a = ClassicMember(script, "a", protocols={"range": ("t",), "sticky": ("t",)})
    b = ClassicMember(script, "b", protocols={"sticky": ("t",), "robin": ("t",)})
    c = ClassicMember(script, "c", protocols={"robin": ("t",), "range": ("t",)})
    await form(script, a, b)
    await a.describe()
    await c.join(3)
    await c.join(3, protocols={"robin": ("t",), "sticky": ("u",)}, member_id="nobody")
    joining = c.join(3, protocols={"robin": ("t",), "sticky": ("u",)})
    await script.parked(joining)
    again = b.join()
    await script.parked(again)
    await a.join()
    await script.answered(again, joining)


@scenario()
async def vote(script: Script) -> None:
    """Of the protocols that all have, the one that most like best is chosen."""
    liked = {"range": ("by range",), "robin": ("by robin",)}
    other = {"robin": ("by robin",), "range": ("by range",)}
    a = ClassicMember(script, "a", protocols=liked)
    b, c = (ClassicMember(script, name, protocols=other) for name in "bc")
    await form(script, a, b, c)
    await a.describe()
    joining = a.join()
    await script.parked(joining)
    again = b.join()
    await script.parked(again)
    await c.join()
    await script.answered(again, joining)


@scenario()
async def opaque(script: Script) -> None:
    """The coordinator does not look into what members say to each other."""
    a = ClassicMember(script, "a", protocols={"v1": b"\x00\xffmetadata", "v0": b""})
    await a.join(protocol_type="something else")
    await a.join(protocol_type="something else")
    await a.sync({a: b"\x00\xffassignment"})
    await a.describe()
    await a.list_groups()


@scenario()
async def joining_twice(script: Script) -> None:
    """A member that waits joins again on another connection: the last one is answered."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form(script, a)
    await b.join()
    first = b.join()
    await script.parked(first)
    second = b.join()
    await script.parked(second, first)
    await a.join()
    await second
    await script.parked(first)
    script.hang_up(first)


@scenario()
async def hanging_up(script: Script) -> None:
    """Who hangs up while waiting stays a member until its session is over, which begins with the answer."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b", session_ms=2_000)
    await form(script, a)
    await b.join()
    joining = b.join()
    await script.parked(joining)
    script.hang_up(joining)
    await script.wait(3)
    await a.describe()
    await a.join()
    await a.sync({a: {"t": [0, 1]}})
    await a.beat()
    await script.wait(3)
    await a.beat()
    await a.describe()


@scenario("small")
async def full(script: Script) -> None:
    """A third member is refused where two are the most; those who are in may join again."""
    a, b, c = (ClassicMember(script, name) for name in "abc")
    await form(script, a, b)
    for version in (0, 3, 4, 9):
        await c.join(version)
    await ClassicMember(script, "d", instance_id="d").join()
    again = a.join()
    await script.parked(again)
    await b.join()
    await again
    await c.join(3)
    await c.join()


@scenario("small")
async def full_of_waiting(script: Script) -> None:
    """While a group rebalances, those count who have joined: a newcomer may take an old member's place."""
    a, b, c = (ClassicMember(script, name, rebalance_ms=3_000) for name in "abc")
    await form(script, a, b)
    again = a.join()
    await script.parked(again)
    joining = c.join(3)
    await script.parked(joining)
    await b.join()
    await script.wait(4)
    await script.answered(again, joining)
    await b.join()


@scenario("small")
async def full_of_pending(script: Script) -> None:
    """Any number may be given an id; only two get in, and a third is not waited for."""
    a, b, c = (ClassicMember(script, name, rebalance_ms=3_000) for name in "abc")
    await form(script, a)
    await b.join()
    await c.join()
    again = a.join()
    await script.parked(again)
    joining = b.join()
    await script.parked(joining)
    await c.join()
    await script.wait(4)
    await script.answered(again, joining)
    await c.join()
