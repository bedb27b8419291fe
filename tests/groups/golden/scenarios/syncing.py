"""SyncGroup of classic members."""

from tests.groups.golden.classic import ClassicMember, form_stable_group
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script


async def _completing(script: Script, a: ClassicMember, b: ClassicMember) -> None:
    await form_stable_group(script, a, b)
    with script.summarized("a and b join again; neither syncs"):
        again = a.join()
        await script.pending(again)
        await b.join()
        await again


@scenario()
async def leader_first(script: Script) -> None:
    """Once the leader has assigned, a follower does not wait."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await _completing(script, a, b)
    await a.heartbeat()
    await b.heartbeat()
    await a.sync({a: {"t": [0]}, b: {"t": [1]}})
    for version in (0, 2, 4, 5):
        await b.sync(version=version)


@scenario()
async def again(script: Script) -> None:
    """Assignments are kept: a leader that assigns again gets its first assignment."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await _completing(script, a, b)
    await a.sync({a: {"t": [0]}, b: {"t": [1]}})
    await a.sync({a: {"t": [1]}, b: {"t": [0]}})
    await b.sync({b: {"t": [7]}})


@scenario()
async def assignments_of_unknown_members(script: Script) -> None:
    """A member without an assignment gets an empty one; assignments of unknown members are dropped."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await _completing(script, a, b)
    waiting = b.sync()
    await script.pending(waiting)
    await a.sync({a: {"t": [0]}, "no-member": {"t": [1]}})
    await waiting
    await a.describe()


@scenario()
async def without_assignments(script: Script) -> None:
    """A leader that assigns nothing at all still makes the group stable."""
    a = ClassicMember(script, "a")
    await a.join()
    await a.join()
    await a.sync()
    await a.heartbeat()
    await a.describe()


@scenario()
async def wrong_protocol(script: Script) -> None:
    """From version 5 on, protocol type and name are required and must match."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await _completing(script, a, b)
    await b.sync(protocol_type="connect")
    await b.sync(protocol="sticky")
    await b.sync(protocol_type=None)
    await b.sync(protocol=None)
    await b.sync(protocol_type=None, protocol=None)
    await b.sync(protocol_type="", protocol="")
    await a.sync({a: {"t": [0]}, b: {"t": [1]}}, protocol="sticky")
    waiting = b.sync(version=4)
    await script.pending(waiting)
    await a.sync({a: {"t": [0]}, b: {"t": [1]}}, 4)
    await waiting
    await b.sync(protocol="sticky")


@scenario()
async def unknown_members(script: Script) -> None:
    """Unknown members and members of other generations get nothing."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await b.sync(generation=1, member_id="no-member", protocol="range")
    await _completing(script, a, b)
    for version in (0, 5):
        await b.sync(version=version, member_id="no-member")
        await b.sync(version=version, member_id="")
        await b.sync(version=version, generation=2)
        await b.sync(version=version, generation=4)
        await b.sync(version=version, generation=-1)
    await b.sync(instance_id="i")
    await b.sync(member_id="no-member", generation=7, protocol="sticky")


@scenario()
async def late(script: Script) -> None:
    """A sync of the previous generation, while the group prepares, completes, and is stable again."""
    a, b, c = (ClassicMember(script, name) for name in "abc")
    await form_stable_group(script, a, b)
    joining = c.join(3)
    await script.pending(joining)
    await b.sync(generation=2)
    again = b.join()
    await script.pending(again)
    await b.sync(generation=2)
    await a.join()
    await script.responses_of(again, joining)
    await b.sync(generation=2)
    await a.sync({a: {"t": [0]}}, generation=2)
    await a.sync({a: {"t": [0]}})
    await b.sync(generation=2)
    await b.sync()


@scenario()
async def never(script: Script) -> None:
    """A follower that does not sync within the rebalance timeout is removed, and the others rejoin."""
    a, b = (ClassicMember(script, name, rebalance_ms=3_000) for name in "ab")
    await _completing(script, a, b)
    await a.sync({a: {"t": [0]}, b: {"t": [1]}})
    await script.wait(1.5)
    await a.heartbeat()
    await b.heartbeat()
    await script.wait(2.5)
    await a.heartbeat()
    await b.heartbeat()
    await a.describe()


@scenario()
async def never_by_the_leader(script: Script) -> None:
    """A leader that does not assign in time is removed; members with pending syncs rejoin."""
    a, b = (ClassicMember(script, name, rebalance_ms=3_000) for name in "ab")
    await _completing(script, a, b)
    waiting = b.sync()
    await script.pending(waiting)
    await script.wait(1.5)
    await a.heartbeat()
    await script.wait(2)
    await waiting
    await a.heartbeat()
    await b.join()


@scenario()
async def twice_while_waiting(script: Script) -> None:
    """A member with a pending sync syncs again on another connection: the last one is answered."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await _completing(script, a, b)
    first = b.sync()
    await script.pending(first)
    second = b.sync()
    await script.pending(second, first)
    await a.sync({a: {"t": [0]}, b: {"t": [1]}})
    await second
    await script.pending(first)
    script.hang_up(first)
