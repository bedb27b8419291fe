"""Static members of a classic group, which return under a new member id."""

from tests.groups.golden.classic import ClassicMember, form_stable_group
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import create_topic


def _pair(script: Script, *, session_ms: int = 60_000, rebalance_ms: int = 60_000) -> list[ClassicMember]:
    return [
        ClassicMember(script, name, instance_id=f"i-{name}", session_ms=session_ms, rebalance_ms=rebalance_ms)
        for name in "ab"
    ]


def _again(script: Script, old: ClassicMember, name: str) -> ClassicMember:
    """A new process of the same static member."""
    return ClassicMember(script, name, instance_id=old.instance_id)


@scenario()
async def joining(script: Script) -> None:
    """A static member is admitted at once, in every version that has instance ids."""
    for version in range(5, 10):
        a = ClassicMember(script, "a", instance_id="i", group=f"g{version}")
        await a.join(version)
        await a.sync({a: {"t": [0]}}, 3)
        await a.describe(version=min(version - 1, 6))


@scenario()
async def joining_again_with_id(script: Script) -> None:
    """A static member that knows its id rejoins like any other."""
    a, b = _pair(script)
    await form_stable_group(script, a, b)
    await b.join()
    again = a.join()
    await script.pending(again)
    await b.join()
    await again
    await a.join()
    await b.join()


@scenario()
async def wrong_ids(script: Script) -> None:
    """A member id must belong to the instance id that is sent."""
    a, b = _pair(script)
    await form_stable_group(script, a, b)
    await a.join(member_id=b.id)
    await a.join(member_id="no-member")
    await a.join(instance_id="i-c")
    again = a.join(instance_id=None)
    await script.pending(again)
    await b.join()
    await again
    await a.describe()


async def _replace_follower(script: Script, version: int) -> None:
    a, b = _pair(script)
    await form_stable_group(script, a, b)
    new = _again(script, b, "c")
    await new.join(version)
    await new.sync()
    await a.heartbeat()
    await new.heartbeat()
    await a.describe()


@scenario()
async def follower_replaced_v5(script: Script) -> None:
    """A static follower returns without its id: it replaces the old member, no other member rejoins."""
    await _replace_follower(script, 5)


@scenario()
async def follower_replaced_v9(script: Script) -> None:
    """A static follower returns without its id, in the newest version."""
    await _replace_follower(script, 9)


async def _replace_leader(script: Script, version: int) -> None:
    a, b = _pair(script)
    await form_stable_group(script, a, b)
    new = _again(script, a, "c")
    await new.join(version)
    await new.sync()
    await b.heartbeat()
    await new.heartbeat()
    again = new.join(version)
    await script.pending(again)
    await b.join()
    await again


@scenario()
async def leader_replaced_v5(script: Script) -> None:
    """A static leader returns in an old version: it gets the old leader's id, so it acts as a follower."""
    await _replace_leader(script, 5)


@scenario()
async def leader_replaced_v8(script: Script) -> None:
    """A static leader returns in the last version that cannot be asked to skip the assignment."""
    await _replace_leader(script, 8)


@scenario()
async def leader_replaced_v9(script: Script) -> None:
    """A static leader returns in the newest version: it leads, and is asked to skip the assignment."""
    await _replace_leader(script, 9)


@scenario()
async def replaced_with_other_topics(script: Script) -> None:
    """A static member returns with another subscription for the same protocol: still no rebalance."""
    a, b = _pair(script)
    await form_stable_group(script, a, b)
    new = _again(script, b, "c")
    await new.join(protocols={"range": ("t", "u")})
    await a.heartbeat()
    await new.sync()
    await a.describe()


@scenario()
async def replaced_with_other_protocol(script: Script) -> None:
    """A static member returns so that another protocol is selected: the group rebalances."""
    a, b = _pair(script)
    both = {"range": ("t",), "sticky": ("t",)}
    a.protocols, b.protocols = both, both
    await form_stable_group(script, a, b)
    new = _again(script, b, "c")
    joining = new.join(protocols={"sticky": ("t",)})
    await script.pending(joining)
    await a.heartbeat()
    await a.join()
    await joining


@scenario()
async def replaced_with_incompatible_protocol(script: Script) -> None:
    """A static member returns with a protocol that the others do not support: it is rejected."""
    a, b = _pair(script)
    await form_stable_group(script, a, b)
    new = _again(script, b, "c")
    await new.join(protocols={"sticky": ("t",)})
    await new.join(protocol_type="connect")
    await b.heartbeat()


@scenario()
async def replaced_while_preparing(script: Script) -> None:
    """A static member returns while the join of the old member is pending: that one is fenced."""
    a, b = _pair(script)
    await form_stable_group(script, a, b)
    old = a.join()
    await script.pending(old)
    new = _again(script, a, "c")
    joining = new.join()
    await script.pending(joining)
    await old
    await b.join()
    await joining


@scenario()
async def replaced_before_joining_again(script: Script) -> None:
    """A static member returns while the group waits for it to rejoin."""
    a, b = _pair(script)
    await form_stable_group(script, a, b)
    waiting = a.join()
    await script.pending(waiting)
    new = _again(script, b, "c")
    await new.join()
    await waiting
    await b.heartbeat()


@scenario()
async def replaced_while_completing(script: Script) -> None:
    """A static member returns while the old sync is pending: that one is fenced, the group rebalances."""
    a, b = _pair(script)
    await form_stable_group(script, a, b)
    again = a.join()
    await script.pending(again)
    await b.join()
    await again
    old = b.sync()
    await script.pending(old)
    new = _again(script, b, "c")
    joining = new.join()
    await script.pending(joining)
    await old
    await a.heartbeat()
    await a.join()
    await joining


@scenario()
async def fencing(script: Script) -> None:
    """Any request of a replaced member is fenced with its instance id, and unknown without it."""
    await create_topic(script)
    a, b = _pair(script)
    await form_stable_group(script, a, b)
    await _again(script, b, "c").join()
    await b.join()
    await b.sync()
    await b.heartbeat()
    await b.commit_as_member({"t": {0: 1}})
    await b.leave()
    await b.join(instance_id=None)
    await b.sync(instance_id=None)
    await b.heartbeat(instance_id=None)
    await b.leave(instance_id=None)
    await a.describe()


@scenario()
async def replaced_twice(script: Script) -> None:
    """Two processes with the same instance id replace each other."""
    a, b = _pair(script)
    await form_stable_group(script, a, b)
    one, two = _again(script, b, "c"), _again(script, b, "d")
    await one.join()
    await two.join()
    await one.heartbeat()
    await two.heartbeat()
    await one.join(member_id="")
    await two.heartbeat()
    await one.heartbeat()


@scenario()
async def expires(script: Script) -> None:
    """A static member whose session expires is removed like any other, with its instance id."""
    a, b = _pair(script)
    b.session_ms = 1_500
    await form_stable_group(script, a, b)
    await script.wait(2.5)
    await a.heartbeat()
    await a.join()
    await b.heartbeat()
    await b.join()
    joining = b.join(member_id="")
    await script.pending(joining)
    await a.join()
    await joining


@scenario()
async def does_not_join_again(script: Script) -> None:
    """A static member that misses the join phase stays in the group as long as its session lasts."""
    a, b = _pair(script, session_ms=60_000, rebalance_ms=1_500)
    await form_stable_group(script, a, b)
    again = a.join()
    await script.pending(again)
    await script.wait(2.5)
    await again
    await a.sync({a: {"t": [0]}, b: {"t": [1]}})
    await b.heartbeat()
    await b.heartbeat(generation=3)
    await b.join()
    await a.describe()


@scenario()
async def leader_does_not_join_again(script: Script) -> None:
    """A static leader that misses the join phase stays, but another member leads."""
    a, b = _pair(script, session_ms=60_000, rebalance_ms=1_500)
    await form_stable_group(script, a, b)
    changed = b.join(protocols={"range": ("t", "u")})
    await script.pending(changed)
    await script.wait(2.5)
    await changed
    await b.sync({a: {"t": [0]}, b: {"t": [1]}})
    await a.heartbeat()
    await a.join()


@scenario()
async def none_joins_again(script: Script) -> None:
    """If only silent static members are left, the join phase restarts until they have expired."""
    a, b = _pair(script, session_ms=5_000, rebalance_ms=1_500)
    await form_stable_group(script, a, b)
    await a.leave()
    await script.wait(2.5)
    await b.describe()
    await b.heartbeat()
    await script.wait(7)
    await b.describe()


@scenario()
async def instance_of_another(script: Script) -> None:
    """Neither a dynamic member's id nor another static member's id may be used with an instance id."""
    await create_topic(script)
    a = ClassicMember(script, "a")
    b = ClassicMember(script, "b", instance_id="i")
    await form_stable_group(script, a, b)
    await a.join(instance_id="i")
    await a.sync(instance_id="i")
    await a.commit({"t": {0: 1}}, epoch=2, member_id=a.id, instance_id="i")
    await a.leave(instance_id="i")
    await b.join(instance_id="j")
    await a.heartbeat()
    await b.heartbeat()
