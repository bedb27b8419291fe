"""Static members of a classic group: instances that come back under a new id."""

from tests.groups.golden.classic import ClassicMember, form
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import make_topic


def _pair(script: Script, *, session_ms: int = 60_000, rebalance_ms: int = 60_000) -> list[ClassicMember]:
    return [
        ClassicMember(script, name, instance_id=f"i-{name}", session_ms=session_ms, rebalance_ms=rebalance_ms)
        for name in "ab"
    ]


def _again(script: Script, old: ClassicMember, name: str) -> ClassicMember:
    """The same instance, started anew."""
    return ClassicMember(script, name, instance_id=old.instance_id)


@scenario()
async def joining(script: Script) -> None:
    """A static member is let in at once, in every version that knows instances."""
    for version in range(5, 10):
        a = ClassicMember(script, "a", instance_id="i", group=f"g{version}")
        await a.join(version)
        await a.sync({a: {"t": [0]}}, 3)
        await a.describe(version=min(version - 1, 6))


@scenario()
async def joining_again_with_id(script: Script) -> None:
    """A static member that knows its id joins again like any other."""
    a, b = _pair(script)
    await form(script, a, b)
    await b.join()
    again = a.join()
    await script.parked(again)
    await b.join()
    await again
    await a.join()
    await b.join()


@scenario()
async def wrong_ids(script: Script) -> None:
    """A member id must belong to the instance that is named."""
    a, b = _pair(script)
    await form(script, a, b)
    await a.join(member_id=b.id)
    await a.join(member_id="nobody")
    await a.join(instance_id="i-c")
    again = a.join(instance_id=None)
    await script.parked(again)
    await b.join()
    await again
    await a.describe()


async def _replace_follower(script: Script, version: int) -> None:
    a, b = _pair(script)
    await form(script, a, b)
    new = _again(script, b, "c")
    await new.join(version)
    await new.sync()
    await a.beat()
    await new.beat()
    await a.describe()


@scenario()
async def follower_replaced_v5(script: Script) -> None:
    """A follower's instance comes back without its id: it takes the old one's place, nobody moves."""
    await _replace_follower(script, 5)


@scenario()
async def follower_replaced_v9(script: Script) -> None:
    """A follower's instance comes back without its id, in today's version."""
    await _replace_follower(script, 9)


async def _replace_leader(script: Script, version: int) -> None:
    a, b = _pair(script)
    await form(script, a, b)
    new = _again(script, a, "c")
    await new.join(version)
    await new.sync()
    await b.beat()
    await new.beat()
    again = new.join(version)
    await script.parked(again)
    await b.join()
    await again


@scenario()
async def leader_replaced_v5(script: Script) -> None:
    """A leader's instance comes back in an old version: it is shown the old leader's id, so it follows."""
    await _replace_leader(script, 5)


@scenario()
async def leader_replaced_v8(script: Script) -> None:
    """A leader's instance comes back in the last version that cannot be told to skip assigning."""
    await _replace_leader(script, 8)


@scenario()
async def leader_replaced_v9(script: Script) -> None:
    """A leader's instance comes back in today's version: it leads, and is told to skip assigning."""
    await _replace_leader(script, 9)


@scenario()
async def replaced_with_other_topics(script: Script) -> None:
    """An instance comes back with another subscription for the same protocol: still nobody moves."""
    a, b = _pair(script)
    await form(script, a, b)
    new = _again(script, b, "c")
    await new.join(protocols={"range": ("t", "u")})
    await a.beat()
    await new.sync()
    await a.describe()


@scenario()
async def replaced_with_other_protocol(script: Script) -> None:
    """An instance comes back so that another protocol is chosen: the group rebalances."""
    a, b = _pair(script)
    both = {"range": ("t",), "sticky": ("t",)}
    a.protocols, b.protocols = both, both
    await form(script, a, b)
    new = _again(script, b, "c")
    joining = new.join(protocols={"sticky": ("t",)})
    await script.parked(joining)
    await a.beat()
    await a.join()
    await joining


@scenario()
async def replaced_with_unfit_protocol(script: Script) -> None:
    """An instance comes back with a protocol that the others do not have: it is refused."""
    a, b = _pair(script)
    await form(script, a, b)
    new = _again(script, b, "c")
    await new.join(protocols={"sticky": ("t",)})
    await new.join(protocol_type="connect")
    await b.beat()


@scenario()
async def replaced_while_preparing(script: Script) -> None:
    """An instance comes back while the old one waits in a join: that one is fenced."""
    a, b = _pair(script)
    await form(script, a, b)
    old = a.join()
    await script.parked(old)
    new = _again(script, a, "c")
    joining = new.join()
    await script.parked(joining)
    await old
    await b.join()
    await joining


@scenario()
async def replaced_before_joining_again(script: Script) -> None:
    """An instance comes back while the group waits for it."""
    a, b = _pair(script)
    await form(script, a, b)
    waiting = a.join()
    await script.parked(waiting)
    new = _again(script, b, "c")
    await new.join()
    await waiting
    await b.beat()


@scenario()
async def replaced_while_completing(script: Script) -> None:
    """An instance comes back while the old one waits in a sync: that one is fenced, the group starts over."""
    a, b = _pair(script)
    await form(script, a, b)
    again = a.join()
    await script.parked(again)
    await b.join()
    await again
    old = b.sync()
    await script.parked(old)
    new = _again(script, b, "c")
    joining = new.join()
    await script.parked(joining)
    await old
    await a.beat()
    await a.join()
    await joining


@scenario()
async def fencing(script: Script) -> None:
    """Whatever a replaced instance asks, with its instance id it is fenced, without it it is unknown."""
    await make_topic(script)
    a, b = _pair(script)
    await form(script, a, b)
    await _again(script, b, "c").join()
    await b.join()
    await b.sync()
    await b.beat()
    await b.commit_mine({"t": {0: 1}})
    await b.leave()
    await b.join(instance_id=None)
    await b.sync(instance_id=None)
    await b.beat(instance_id=None)
    await b.leave(instance_id=None)
    await a.describe()


@scenario()
async def replaced_twice(script: Script) -> None:
    """Two processes with the same instance id throw each other out."""
    a, b = _pair(script)
    await form(script, a, b)
    one, two = _again(script, b, "c"), _again(script, b, "d")
    await one.join()
    await two.join()
    await one.beat()
    await two.beat()
    await one.join(member_id="")
    await two.beat()
    await one.beat()


@scenario()
async def dies(script: Script) -> None:
    """A static member that is silent for its session is removed like any other, its instance id with it."""
    a, b = _pair(script)
    b.session_ms = 1_500
    await form(script, a, b)
    await script.wait(2.5)
    await a.beat()
    await a.join()
    await b.beat()
    await b.join()
    joining = b.join(member_id="")
    await script.parked(joining)
    await a.join()
    await joining


@scenario()
async def does_not_join_again(script: Script) -> None:
    """A static member that misses the join phase stays in the group as long as its session lasts."""
    a, b = _pair(script, session_ms=60_000, rebalance_ms=1_500)
    await form(script, a, b)
    again = a.join()
    await script.parked(again)
    await script.wait(2.5)
    await again
    await a.sync({a: {"t": [0]}, b: {"t": [1]}})
    await b.beat()
    await b.beat(generation=3)
    await b.join()
    await a.describe()


@scenario()
async def leader_does_not_join_again(script: Script) -> None:
    """A static leader that misses the join phase stays, but another leads."""
    a, b = _pair(script, session_ms=60_000, rebalance_ms=1_500)
    await form(script, a, b)
    changed = b.join(protocols={"range": ("t", "u")})
    await script.parked(changed)
    await script.wait(2.5)
    await changed
    await b.sync({a: {"t": [0]}, b: {"t": [1]}})
    await a.beat()
    await a.join()


@scenario()
async def none_joins_again(script: Script) -> None:
    """Where nobody but silent static members is left, the join phase begins again until they are gone."""
    a, b = _pair(script, session_ms=5_000, rebalance_ms=1_500)
    await form(script, a, b)
    await a.leave()
    await script.wait(2.5)
    await b.describe()
    await b.beat()
    await script.wait(7)
    await b.describe()


@scenario()
async def instance_of_another(script: Script) -> None:
    """A dynamic member's id cannot be used with an instance id, nor a static member's with another."""
    await make_topic(script)
    a = ClassicMember(script, "a")
    b = ClassicMember(script, "b", instance_id="i")
    await form(script, a, b)
    await a.join(instance_id="i")
    await a.sync(instance_id="i")
    await a.commit({"t": {0: 1}}, epoch=2, member_id=a.id, instance_id="i")
    await a.leave(instance_id="i")
    await b.join(instance_id="j")
    await a.beat()
    await b.beat()
