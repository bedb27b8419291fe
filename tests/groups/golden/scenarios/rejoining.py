"""Members of a classic group that join again, and members that do not."""

from tests.groups.golden.classic import ClassicMember, form
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script


@scenario()
async def unchanged_follower(script: Script) -> None:
    """A follower that joins a stable group again as it was is told the generation; nobody has to move."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form(script, a, b)
    for version in (2, 6, 9):
        await b.join(version)
    await b.sync()
    await a.beat()


@scenario()
async def changed_follower(script: Script) -> None:
    """A follower that joins a stable group with another subscription makes it rebalance."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form(script, a, b)
    changed = b.join(protocols={"range": ("t", "u")})
    await script.parked(changed)
    await a.beat()
    await b.beat()
    await a.join()
    await changed


@scenario()
async def leader(script: Script) -> None:
    """A leader that joins a stable group again makes it rebalance, changed or not."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form(script, a, b)
    again = a.join()
    await script.parked(again)
    await b.beat()
    await b.join()
    await again


@scenario()
async def alone(script: Script) -> None:
    """A leader that is alone gets the next generation at once."""
    a = ClassicMember(script, "a")
    await form(script, a)
    await a.join()
    await a.sync({a: {"t": [0]}})
    await a.join()
    await a.join()


async def _completing(script: Script, a: ClassicMember, b: ClassicMember) -> None:
    """Bring two members to where both have joined and nobody has synced."""
    await form(script, a, b)
    with script.offstage("a and b join again; neither syncs"):
        again = a.join()
        await script.parked(again)
        await b.join()
        await again


@scenario()
async def unchanged_while_completing(script: Script) -> None:
    """Before the assignment is there, whoever joins again unchanged is told the same once more."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await _completing(script, a, b)
    await b.join()
    await a.join()
    await a.describe()


@scenario()
async def changed_while_completing(script: Script) -> None:
    """Before the assignment is there, a changed member starts over; who waits for its share is told."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await _completing(script, a, b)
    waiting = b.sync()
    await script.parked(waiting)
    changed = b.join(protocols={"range": ("t", "u")})
    await script.parked(changed)
    await waiting
    await a.sync({a: {"t": [0]}})
    await a.beat()
    await a.join()
    await changed


@scenario()
async def changed_while_preparing(script: Script) -> None:
    """While the others are waited for, a member may change its mind; its last word counts."""
    a, b, c = (ClassicMember(script, name) for name in "abc")
    await form(script, a, b)
    joining = c.join(3)
    await script.parked(joining)
    first = b.join()
    await script.parked(first)
    last = b.join(protocols={"range": ("t", "u")})
    await script.parked(last)
    await a.join()
    await script.answered(last, joining)
    script.hang_up(first)


@scenario()
async def newcomer_while_completing(script: Script) -> None:
    """A newcomer before the assignment is there starts over."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    c = ClassicMember(script, "c")
    await _completing(script, a, b)
    waiting = b.sync()
    await script.parked(waiting)
    joining = c.join(3)
    await script.parked(joining)
    await waiting
    await a.describe()
    again = b.join()
    await script.parked(again)
    await a.join()
    await script.answered(again, joining)


@scenario()
async def leader_leaves(script: Script) -> None:
    """When the leader leaves, the other is told to join again and leads."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form(script, a, b)
    await a.leave()
    await a.beat()
    await b.beat()
    await b.join()
    await b.sync({b: {"t": [0, 1]}})


@scenario()
async def leader_leaves_while_completing(script: Script) -> None:
    """When the leader leaves before it has assigned, who waits for its share has to join again."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await _completing(script, a, b)
    waiting = b.sync()
    await script.parked(waiting)
    await a.leave()
    await waiting
    await b.join()


@scenario()
async def leader_leaves_while_preparing(script: Script) -> None:
    """When the last one that is waited for leaves, the others are answered; the first of them leads."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form(script, a, b)
    changed = b.join(protocols={"range": ("t", "u")})
    await script.parked(changed)
    await a.leave()
    await changed


@scenario()
async def leader_dies(script: Script) -> None:
    """A leader that is silent for its session is removed; the other leads."""
    a = ClassicMember(script, "a", session_ms=1_500)
    b = ClassicMember(script, "b")
    await form(script, a, b)
    await script.wait(2.5)
    await b.beat()
    await b.describe()
    await b.join()
    await a.beat()
    await a.join()


@scenario()
async def leader_dies_while_completing(script: Script) -> None:
    """A leader that is silent before it has assigned is removed; who waits has to join again."""
    a = ClassicMember(script, "a", session_ms=3_000)
    b = ClassicMember(script, "b")
    await _completing(script, a, b)
    waiting = b.sync()
    await script.parked(waiting)
    await script.wait(4)
    await waiting
    await b.join()
    await a.sync({a: {"t": [0]}}, generation=3)


@scenario()
async def dies_while_preparing(script: Script) -> None:
    """One who is waited for and silent for its session is waited for no longer."""
    a = ClassicMember(script, "a", session_ms=3_000)
    b = ClassicMember(script, "b")
    await form(script, a, b)
    changed = b.join(protocols={"range": ("t", "u")})
    await script.parked(changed)
    await script.wait(4)
    await changed
    await a.beat()


@scenario()
async def beating_keeps_alive(script: Script) -> None:
    """A session begins anew with each heartbeat, in each state."""
    a = ClassicMember(script, "a", session_ms=3_000)
    b = ClassicMember(script, "b")
    await form(script, a, b)
    for _ in range(3):
        await script.wait(1.5)
        await a.beat()
    changed = b.join(protocols={"range": ("t", "u")})
    await script.parked(changed)
    for _ in range(3):
        await script.wait(1.5)
        await a.beat()
    await a.join()
    await changed
    for _ in range(3):
        await script.wait(1.5)
        await a.beat()
    await a.sync({a: {"t": [0]}})


@scenario()
async def waiting_keeps_alive(script: Script) -> None:
    """Who waits for others, in a join or a sync, does not have to beat."""
    a = ClassicMember(script, "a")
    b = ClassicMember(script, "b", session_ms=1_000)
    await form(script, a)
    await b.join()
    joining = b.join()
    await script.parked(joining)
    await script.wait(2.5)
    await script.parked(joining)
    await a.join()
    await joining
    waiting = b.sync()
    await script.parked(waiting)
    await script.wait(2.5)
    await script.parked(waiting)
    await a.sync({a: {"t": [0]}, b: {"t": [1]}})
    await waiting
    await b.beat()
    await script.wait(2)
    await b.beat()


@scenario()
async def never_joins(script: Script) -> None:
    """Who beats but does not join within the longest rebalance timeout is out; the leader too."""
    a = ClassicMember(script, "a", rebalance_ms=3_000)
    b = ClassicMember(script, "b", rebalance_ms=1_000)
    await form(script, a, b)
    changed = b.join(protocols={"range": ("t", "u")})
    await script.parked(changed)
    await script.wait(1.5)
    await a.beat()
    await script.parked(changed)
    await script.wait(2)
    await changed
    await a.beat()
    await a.join()


@scenario()
async def nobody_joins(script: Script) -> None:
    """When a member has gone and nobody joins in time, the group is empty."""
    a, b = (ClassicMember(script, name, rebalance_ms=1_500) for name in "ab")
    await form(script, a, b)
    await a.leave()
    await b.beat()
    await script.wait(2.5)
    await b.beat()
    await b.describe()


@scenario()
async def several_die(script: Script) -> None:
    """When all are silent, the group is empty after the longest session."""
    a = ClassicMember(script, "a", session_ms=1_000, rebalance_ms=30_000)
    b = ClassicMember(script, "b", session_ms=2_500, rebalance_ms=30_000)
    await form(script, a, b)
    await script.wait(1.5)
    await b.describe()
    await script.wait(2)
    await b.describe()
    await b.join()
    await b.join(3, member_id="")
