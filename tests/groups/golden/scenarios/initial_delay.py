"""Initial delay: an empty group waits for more members before its first generation."""

from tests.groups.golden.classic import ClassicMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script


@scenario("delayed")
async def one_member(script: Script) -> None:
    """A single member waits for the delay, 3 s."""
    a = ClassicMember(script, "a")
    await a.join()
    joining = a.join()
    await script.pending(joining)
    await a.describe()
    await script.wait(1.5)
    await script.pending(joining)
    await script.wait(2)
    await joining


@scenario("delayed")
async def extended(script: Script) -> None:
    """A member that joins during the delay extends it, once for all of them."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    first = a.join(3)
    await script.pending(first)
    await script.wait(1)
    second = b.join(3)
    await script.pending(second)
    await script.wait(3)
    await script.pending(first, second)
    await script.wait(2.5)
    await script.responses_of(first, second)


@scenario("delayed")
async def bounded(script: Script) -> None:
    """All extensions together do not exceed the longest rebalance timeout, here 4.5 s."""
    a = ClassicMember(script, "a", rebalance_ms=4_500)
    b = ClassicMember(script, "b", rebalance_ms=1_000)
    first = a.join(3)
    await script.pending(first)
    second = b.join(3)
    await script.pending(second)
    await script.wait(3)
    await script.pending(first, second)
    await script.wait(1.75)
    await script.responses_of(first, second)


@scenario("delayed")
async def leaving_during_the_delay(script: Script) -> None:
    """A member that leaves during the delay gets UNKNOWN_MEMBER_ID; the others keep waiting."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await a.join()
    await b.join()
    first, second = a.join(), None
    await script.pending(first)
    second = b.join()
    await script.pending(second)
    await a.leave()
    await first
    await script.pending(second)
    await b.leave()
    await second
    await b.describe()
    await script.wait(7)
    await b.describe()


@scenario("delayed")
async def only_when_empty(script: Script) -> None:
    """A group with members has no delay; one that became empty waits again."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    first = a.join(3)
    await script.pending(first)
    await script.wait(4)
    await first
    await a.sync({a: {"t": [0]}})
    second = b.join(3)
    await script.pending(second)
    await a.join()
    await second
    await a.leave()
    await b.leave()
    third = a.join(3, member_id="")
    await script.pending(third)
    await script.wait(1)
    await script.pending(third)
    await script.wait(3)
    await third
