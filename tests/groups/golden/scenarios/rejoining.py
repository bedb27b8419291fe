"""Members of a classic group that rejoin, and members that do not."""

from tests.groups.golden.classic import ClassicMember, form_stable_group
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script


@scenario()
async def unchanged_follower(script: Script) -> None:
    """An unchanged follower that rejoins a stable group gets the current generation; no member moves."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    for version in (2, 6, 9):
        await b.join(version)
    await b.sync()
    await a.heartbeat()


@scenario()
async def changed_follower(script: Script) -> None:
    """A follower that rejoins a stable group with another subscription triggers a rebalance."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    changed = b.join(protocols={"range": ("t", "u")})
    await script.pending(changed)
    await a.heartbeat()
    await b.heartbeat()
    await a.join()
    await changed


@scenario()
async def leader(script: Script) -> None:
    """A leader that rejoins a stable group triggers a rebalance, changed or not."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    again = a.join()
    await script.pending(again)
    await b.heartbeat()
    await b.join()
    await again


@scenario()
async def only_member(script: Script) -> None:
    """A leader without followers gets the next generation at once."""
    a = ClassicMember(script, "a")
    await form_stable_group(script, a)
    await a.join()
    await a.sync({a: {"t": [0]}})
    await a.join()
    await a.join()


async def _completing(script: Script, a: ClassicMember, b: ClassicMember) -> None:
    """Bring two members to where both have joined and neither has synced."""
    await form_stable_group(script, a, b)
    with script.summarized("a and b join again; neither syncs"):
        again = a.join()
        await script.pending(again)
        await b.join()
        await again


@scenario()
async def unchanged_while_completing(script: Script) -> None:
    """Before the assignment, an unchanged member that rejoins gets the same response again."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await _completing(script, a, b)
    await b.join()
    await a.join()
    await a.describe()


@scenario()
async def changed_while_completing(script: Script) -> None:
    """Before the assignment, a changed member restarts the rebalance; pending syncs are answered."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await _completing(script, a, b)
    waiting = b.sync()
    await script.pending(waiting)
    changed = b.join(protocols={"range": ("t", "u")})
    await script.pending(changed)
    await waiting
    await a.sync({a: {"t": [0]}})
    await a.heartbeat()
    await a.join()
    await changed


@scenario()
async def changed_while_preparing(script: Script) -> None:
    """During a rebalance, a member may change its subscription; the last one counts."""
    a, b, c = (ClassicMember(script, name) for name in "abc")
    await form_stable_group(script, a, b)
    joining = c.join(3)
    await script.pending(joining)
    first = b.join()
    await script.pending(first)
    last = b.join(protocols={"range": ("t", "u")})
    await script.pending(last)
    await a.join()
    await script.responses_of(last, joining)
    script.hang_up(first)


@scenario()
async def new_member_while_completing(script: Script) -> None:
    """A new member before the assignment restarts the rebalance."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    c = ClassicMember(script, "c")
    await _completing(script, a, b)
    waiting = b.sync()
    await script.pending(waiting)
    joining = c.join(3)
    await script.pending(joining)
    await waiting
    await a.describe()
    again = b.join()
    await script.pending(again)
    await a.join()
    await script.responses_of(again, joining)


@scenario()
async def leader_leaves(script: Script) -> None:
    """When the leader leaves, the other member is asked to rejoin and leads."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    await a.leave()
    await a.heartbeat()
    await b.heartbeat()
    await b.join()
    await b.sync({b: {"t": [0, 1]}})


@scenario()
async def leader_leaves_while_completing(script: Script) -> None:
    """When the leader leaves before it has assigned, members with pending syncs have to rejoin."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await _completing(script, a, b)
    waiting = b.sync()
    await script.pending(waiting)
    await a.leave()
    await waiting
    await b.join()


@scenario()
async def leader_leaves_while_preparing(script: Script) -> None:
    """When the last awaited member leaves, the others are answered; the first of them leads."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    changed = b.join(protocols={"range": ("t", "u")})
    await script.pending(changed)
    await a.leave()
    await changed


@scenario()
async def leader_expires(script: Script) -> None:
    """A leader that is silent for its session timeout is removed; the other member leads."""
    a = ClassicMember(script, "a", session_ms=1_500)
    b = ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    await script.wait(2.5)
    await b.heartbeat()
    await b.describe()
    await b.join()
    await a.heartbeat()
    await a.join()


@scenario()
async def leader_expires_while_completing(script: Script) -> None:
    """A leader that expires before it has assigned is removed; members with pending syncs rejoin."""
    a = ClassicMember(script, "a", session_ms=3_000)
    b = ClassicMember(script, "b")
    await _completing(script, a, b)
    waiting = b.sync()
    await script.pending(waiting)
    await script.wait(4)
    await waiting
    await b.join()
    await a.sync({a: {"t": [0]}}, generation=3)


@scenario()
async def expires_while_preparing(script: Script) -> None:
    """A rebalance no longer waits for a member whose session expired."""
    a = ClassicMember(script, "a", session_ms=3_000)
    b = ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    changed = b.join(protocols={"range": ("t", "u")})
    await script.pending(changed)
    await script.wait(4)
    await changed
    await a.heartbeat()


@scenario()
async def heartbeats_keep_alive(script: Script) -> None:
    """Each heartbeat restarts the session, in each state."""
    a = ClassicMember(script, "a", session_ms=3_000)
    b = ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    for _ in range(3):
        await script.wait(1.5)
        await a.heartbeat()
    changed = b.join(protocols={"range": ("t", "u")})
    await script.pending(changed)
    for _ in range(3):
        await script.wait(1.5)
        await a.heartbeat()
    await a.join()
    await changed
    for _ in range(3):
        await script.wait(1.5)
        await a.heartbeat()
    await a.sync({a: {"t": [0]}})


@scenario()
async def waiting_keeps_alive(script: Script) -> None:
    """A member with a pending join or sync does not have to send heartbeats."""
    a = ClassicMember(script, "a")
    b = ClassicMember(script, "b", session_ms=1_000)
    await form_stable_group(script, a)
    await b.join()
    joining = b.join()
    await script.pending(joining)
    await script.wait(2.5)
    await script.pending(joining)
    await a.join()
    await joining
    waiting = b.sync()
    await script.pending(waiting)
    await script.wait(2.5)
    await script.pending(waiting)
    await a.sync({a: {"t": [0]}, b: {"t": [1]}})
    await waiting
    await b.heartbeat()
    await script.wait(2)
    await b.heartbeat()


@scenario()
async def never_joins(script: Script) -> None:
    """A member that does not rejoin within the longest rebalance timeout is removed; a leader too."""
    a = ClassicMember(script, "a", rebalance_ms=3_000)
    b = ClassicMember(script, "b", rebalance_ms=1_000)
    await form_stable_group(script, a, b)
    changed = b.join(protocols={"range": ("t", "u")})
    await script.pending(changed)
    await script.wait(1.5)
    await a.heartbeat()
    await script.pending(changed)
    await script.wait(2)
    await changed
    await a.heartbeat()
    await a.join()


@scenario()
async def no_member_joins(script: Script) -> None:
    """If a member has left and no other joins in time, the group is empty."""
    a, b = (ClassicMember(script, name, rebalance_ms=1_500) for name in "ab")
    await form_stable_group(script, a, b)
    await a.leave()
    await b.heartbeat()
    await script.wait(2.5)
    await b.heartbeat()
    await b.describe()


@scenario()
async def several_expire(script: Script) -> None:
    """If all members are silent, the group is empty after the longest session timeout."""
    a = ClassicMember(script, "a", session_ms=1_000, rebalance_ms=30_000)
    b = ClassicMember(script, "b", session_ms=2_500, rebalance_ms=30_000)
    await form_stable_group(script, a, b)
    await script.wait(1.5)
    await b.describe()
    await script.wait(2)
    await b.describe()
    await b.join()
    await b.join(3, member_id="")
