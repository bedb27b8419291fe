"""Fetching the assignment of a classic group."""

from tests.groups.golden.classic import ClassicMember, form
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script


async def _completing(script: Script, a: ClassicMember, b: ClassicMember) -> None:
    await form(script, a, b)
    with script.offstage("a and b join again; neither syncs"):
        again = a.join()
        await script.parked(again)
        await b.join()
        await again


@scenario()
async def leader_first(script: Script) -> None:
    """Once the leader has assigned, a follower does not wait."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await _completing(script, a, b)
    await a.beat()
    await b.beat()
    await a.sync({a: {"t": [0]}, b: {"t": [1]}})
    for version in (0, 2, 4, 5):
        await b.sync(version=version)


@scenario()
async def again(script: Script) -> None:
    """What was assigned stays: a leader that assigns once more is told what it said first."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await _completing(script, a, b)
    await a.sync({a: {"t": [0]}, b: {"t": [1]}})
    await a.sync({a: {"t": [1]}, b: {"t": [0]}})
    await b.sync({b: {"t": [7]}})


@scenario()
async def shares_of_nobody(script: Script) -> None:
    """Who is given nothing gets nothing; what is given to strangers is lost."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await _completing(script, a, b)
    waiting = b.sync()
    await script.parked(waiting)
    await a.sync({a: {"t": [0]}, "nobody": {"t": [1]}})
    await waiting
    await a.describe()


@scenario()
async def without_shares(script: Script) -> None:
    """A leader that assigns nothing at all makes the group stable all the same."""
    a = ClassicMember(script, "a")
    await a.join()
    await a.join()
    await a.sync()
    await a.beat()
    await a.describe()


@scenario()
async def wrong_protocol(script: Script) -> None:
    """From version 5 on, type and name of the protocol must be said and be right."""
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
    await script.parked(waiting)
    await a.sync({a: {"t": [0]}, b: {"t": [1]}}, 4)
    await waiting
    await b.sync(protocol="sticky")


@scenario()
async def strangers(script: Script) -> None:
    """Who is unknown, or knows another generation, gets nothing."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await b.sync(generation=1, member_id="nobody", protocol="range")
    await _completing(script, a, b)
    for version in (0, 5):
        await b.sync(version=version, member_id="nobody")
        await b.sync(version=version, member_id="")
        await b.sync(version=version, generation=2)
        await b.sync(version=version, generation=4)
        await b.sync(version=version, generation=-1)
    await b.sync(instance_id="i")
    await b.sync(member_id="nobody", generation=7, protocol="sticky")


@scenario()
async def late(script: Script) -> None:
    """A sync of the generation before, while the group prepares, completes, and is stable again."""
    a, b, c = (ClassicMember(script, name) for name in "abc")
    await form(script, a, b)
    joining = c.join(3)
    await script.parked(joining)
    await b.sync(generation=2)
    again = b.join()
    await script.parked(again)
    await b.sync(generation=2)
    await a.join()
    await script.answered(again, joining)
    await b.sync(generation=2)
    await a.sync({a: {"t": [0]}}, generation=2)
    await a.sync({a: {"t": [0]}})
    await b.sync(generation=2)
    await b.sync()


@scenario()
async def never(script: Script) -> None:
    """A follower that does not sync within the rebalance timeout is removed, and the others join again."""
    a, b = (ClassicMember(script, name, rebalance_ms=3_000) for name in "ab")
    await _completing(script, a, b)
    await a.sync({a: {"t": [0]}, b: {"t": [1]}})
    await script.wait(1.5)
    await a.beat()
    await b.beat()
    await script.wait(2.5)
    await a.beat()
    await b.beat()
    await a.describe()


@scenario()
async def never_by_the_leader(script: Script) -> None:
    """A leader that does not assign within the rebalance timeout is removed; who waits joins again."""
    a, b = (ClassicMember(script, name, rebalance_ms=3_000) for name in "ab")
    await _completing(script, a, b)
    waiting = b.sync()
    await script.parked(waiting)
    await script.wait(1.5)
    await a.beat()
    await script.wait(2)
    await waiting
    await a.beat()
    await b.join()


@scenario()
async def twice_while_waiting(script: Script) -> None:
    """A member that waits for its share asks again on another connection: the last one is answered."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await _completing(script, a, b)
    first = b.sync()
    await script.parked(first)
    second = b.sync()
    await script.parked(second, first)
    await a.sync({a: {"t": [0]}, b: {"t": [1]}})
    await second
    await script.parked(first)
    script.hang_up(first)
