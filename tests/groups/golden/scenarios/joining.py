"""First joins of a classic group."""

from tests.groups.golden.classic import ClassicMember, form_stable_group
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import create_topic


async def _whole_life(script: Script, join: int, sync: int, heartbeat: int, leave: int) -> None:
    a = ClassicMember(script, "a")
    if join >= 4:
        await a.join(join)
    await a.join(join)
    await a.sync({a: {"t": [0]}}, sync)
    await a.heartbeat(heartbeat)
    await a.leave(leave)
    await a.heartbeat(heartbeat)


@scenario()
async def version_0(script: Script) -> None:
    """The oldest versions: no rebalance timeout, and members are admitted without a known id."""
    await _whole_life(script, 0, 0, 0, 0)


@scenario()
async def version_2(script: Script) -> None:
    """Old versions."""
    await _whole_life(script, 2, 1, 1, 1)


@scenario()
async def version_3(script: Script) -> None:
    """The last version that admits members without an id."""
    await _whole_life(script, 3, 2, 2, 2)


@scenario()
async def version_4(script: Script) -> None:
    """The first version in which a member has to join again with its assigned id."""
    await _whole_life(script, 4, 2, 2, 3)


@scenario()
async def version_5(script: Script) -> None:
    """The first version with instance ids."""
    await _whole_life(script, 5, 3, 3, 3)


@scenario()
async def version_6(script: Script) -> None:
    """The first flexible version."""
    await _whole_life(script, 6, 4, 4, 4)


@scenario()
async def version_7(script: Script) -> None:
    """The first version that returns the protocol type."""
    await _whole_life(script, 7, 5, 4, 5)


@scenario()
async def version_9(script: Script) -> None:
    """The newest version."""
    await _whole_life(script, 9, 5, 4, 5)


@scenario()
async def two_members(script: Script) -> None:
    """A second member joins a stable group: the first is asked to rejoin and stays leader."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await a.join()
    await a.join()
    await a.sync({a: {"t": [0]}})
    await b.join()
    await a.heartbeat()
    joining = b.join()
    await script.pending(joining)
    await a.heartbeat()
    await a.join()
    await joining
    following = b.sync()
    await script.pending(following)
    await a.sync({a: {"t": [0]}, b: {"t": [1]}})
    await following
    await a.heartbeat()
    await b.heartbeat()
    await a.describe()


@scenario()
async def three_members(script: Script) -> None:
    """Three members of three versions; every response has the version of its request."""
    a, b, c = (ClassicMember(script, name) for name in "abc")
    await form_stable_group(script, a, b)
    joining = c.join(3)
    await script.pending(joining)
    again = b.join(5)
    await script.pending(again)
    await a.join(9)
    await script.responses_of(again, joining)
    waiting = [b.sync(version=3)]
    await script.pending(waiting[0])
    waiting.append(c.sync(version=0))
    await script.pending(waiting[1])
    await a.sync({a: {"t": [0]}, b: {"t": [1]}})
    await script.responses_of(*waiting)


@scenario()
async def old_version_waits(script: Script) -> None:
    """A member of version 3 joins a stable group: it gets its id only when the others have joined."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a)
    joining = b.join(3)
    await script.pending(joining)
    await a.describe()
    await a.join()
    await joining


@scenario()
async def pending_member_returns(script: Script) -> None:
    """A client with an assigned id is not a member yet: it may not heartbeat, sync or commit, but join."""
    await create_topic(script)
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a)
    await b.join()
    await b.heartbeat(generation=1)
    await b.sync(generation=1, protocol="range")
    await b.commit_as_member({"t": {0: 1}}, generation=1)
    await a.describe()
    joining = b.join()
    await script.pending(joining)
    await a.join()
    await joining


@scenario()
async def pending_member_times_out(script: Script) -> None:
    """An assigned id that is not used within the session timeout is forgotten."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b", session_ms=1_500)
    await form_stable_group(script, a)
    await b.join()
    await script.wait(3)
    await b.join()


@scenario()
async def pending_member_delays_rebalance(script: Script) -> None:
    """A rebalance waits for an assigned id until its session timeout."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b", session_ms=3_000)
    await form_stable_group(script, a)
    await b.join()
    again = a.join()
    await script.pending(again)
    await script.wait(4)
    await again
    await b.join()


@scenario()
async def pending_member_of_an_empty_group(script: Script) -> None:
    """A group exists as soon as an id was assigned, and stays if the id is not used."""
    a = ClassicMember(script, "a", session_ms=1_500)
    await a.join()
    await a.describe()
    await a.list_groups()
    await script.wait(3)
    await a.describe()
    await a.join()


@scenario()
async def unknown_ids(script: Script) -> None:
    """A join with an id that was not assigned is rejected, whether or not the group exists."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    for version in (0, 4, 7, 9):
        await b.join(version, member_id="no-member")
    await b.join(member_id="no-member", instance_id="i")
    await form_stable_group(script, a)
    for version in (0, 4, 7, 9):
        await b.join(version, member_id="no-member")
    await b.join(member_id="no-member", instance_id="i")
    await b.join(5, member_id=a.id, instance_id="i")


@scenario()
async def no_group_id(script: Script) -> None:
    """A group must have a name."""
    a = ClassicMember(script, "a", group="")
    for version in (0, 5, 9):
        await a.join(version)
    await a.sync(generation=1)
    await a.heartbeat(generation=1)
    await a.leave()
    await a.leave(2)


@scenario()
async def session_out_of_bounds(script: Script) -> None:
    """Session timeouts out of bounds are rejected; the bounds themselves are accepted."""
    for session_ms in (0, -1, 499, 1_800_001, 2**31 - 1):
        await ClassicMember(script, "a", session_ms=session_ms).join()
        await ClassicMember(script, "a", session_ms=session_ms).join(3)
    await ClassicMember(script, "a", session_ms=500).join()
    await ClassicMember(script, "a", session_ms=1_800_000).join()


@scenario()
async def protocols_of_the_first(script: Script) -> None:
    """The first member must have a protocol type and a protocol."""
    a = ClassicMember(script, "a")
    for version in (3, 9):
        await a.join(version, protocols={})
        await a.join(version, protocol_type="", protocols={"range": ("t",)})
        await a.join(version, protocol_type="", protocols={})
    await a.describe()


@scenario()
async def protocols_of_others(script: Script) -> None:
    """Later members must have the group's type and a protocol that all members support."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a)
    for version in (3, 6, 7, 9):
        await b.join(version, protocol_type="connect")
        await b.join(version, protocols={"sticky": ("t",)})
        await b.join(version, protocols={})
    await a.join(protocols={"sticky": ("t",)}, protocol_type="connect")
    await a.heartbeat()


@scenario()
async def common_protocol(script: Script) -> None:
    """The common protocol must be supported by all members, not just by some."""
    a = ClassicMember(script, "a", protocols={"range": ("t",), "sticky": ("t",)})
    b = ClassicMember(script, "b", protocols={"sticky": ("t",), "robin": ("t",)})
    c = ClassicMember(script, "c", protocols={"robin": ("t",), "range": ("t",)})
    await form_stable_group(script, a, b)
    await a.describe()
    await c.join(3)
    await c.join(3, protocols={"robin": ("t",), "sticky": ("u",)}, member_id="no-member")
    joining = c.join(3, protocols={"robin": ("t",), "sticky": ("u",)})
    await script.pending(joining)
    again = b.join()
    await script.pending(again)
    await a.join()
    await script.responses_of(again, joining)


@scenario()
async def vote(script: Script) -> None:
    """Of the protocols that all members support, the one most of them prefer is selected."""
    liked = {"range": ("by range",), "robin": ("by robin",)}
    other = {"robin": ("by robin",), "range": ("by range",)}
    a = ClassicMember(script, "a", protocols=liked)
    b, c = (ClassicMember(script, name, protocols=other) for name in "bc")
    await form_stable_group(script, a, b, c)
    await a.describe()
    joining = a.join()
    await script.pending(joining)
    again = b.join()
    await script.pending(again)
    await c.join()
    await script.responses_of(again, joining)


@scenario()
async def opaque(script: Script) -> None:
    """The coordinator does not interpret the metadata that members exchange."""
    a = ClassicMember(script, "a", protocols={"v1": b"\x00\xffmetadata", "v0": b""})
    await a.join(protocol_type="something else")
    await a.join(protocol_type="something else")
    await a.sync({a: b"\x00\xffassignment"})
    await a.describe()
    await a.list_groups()


@scenario()
async def joining_twice(script: Script) -> None:
    """A member with a pending join joins again on another connection: the last one is answered."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a)
    await b.join()
    first = b.join()
    await script.pending(first)
    second = b.join()
    await script.pending(second, first)
    await a.join()
    await second
    await script.pending(first)
    script.hang_up(first)


@scenario()
async def hanging_up(script: Script) -> None:
    """A member that disconnects during a pending join stays until its session expires."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b", session_ms=2_000)
    await form_stable_group(script, a)
    await b.join()
    joining = b.join()
    await script.pending(joining)
    script.hang_up(joining)
    await script.wait(3)
    await a.describe()
    await a.join()
    await a.sync({a: {"t": [0, 1]}})
    await a.heartbeat()
    await script.wait(3)
    await a.heartbeat()
    await a.describe()


@scenario("small")
async def full(script: Script) -> None:
    """A third member is rejected where two are the limit; existing members may join again."""
    a, b, c = (ClassicMember(script, name) for name in "abc")
    await form_stable_group(script, a, b)
    for version in (0, 3, 4, 9):
        await c.join(version)
    await ClassicMember(script, "d", instance_id="d").join()
    again = a.join()
    await script.pending(again)
    await b.join()
    await again
    await c.join(3)
    await c.join()


@scenario("small")
async def full_of_joined_members(script: Script) -> None:
    """During a rebalance only joined members count: a new member may take an old one's place."""
    a, b, c = (ClassicMember(script, name, rebalance_ms=3_000) for name in "abc")
    await form_stable_group(script, a, b)
    again = a.join()
    await script.pending(again)
    joining = c.join(3)
    await script.pending(joining)
    await b.join()
    await script.wait(4)
    await script.responses_of(again, joining)
    await b.join()


@scenario("small")
async def full_of_assigned_ids(script: Script) -> None:
    """Any number of ids may be assigned; only two members are admitted, and a third is not waited for."""
    a, b, c = (ClassicMember(script, name, rebalance_ms=3_000) for name in "abc")
    await form_stable_group(script, a)
    await b.join()
    await c.join()
    again = a.join()
    await script.pending(again)
    joining = b.join()
    await script.pending(joining)
    await c.join()
    await script.wait(4)
    await script.responses_of(again, joining)
    await c.join()
