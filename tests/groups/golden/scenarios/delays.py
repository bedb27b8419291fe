"""The initial delay: an empty group waits for more members before it makes a generation."""

from tests.groups.golden.classic import ClassicMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script


@scenario("delayed")
async def alone(script: Script) -> None:
    """One member waits for the delay, 3 s."""
    a = ClassicMember(script, "a")
    await a.join()
    joining = a.join()
    await script.parked(joining)
    await a.describe()
    await script.wait(1.5)
    await script.parked(joining)
    await script.wait(2)
    await joining


@scenario("delayed")
async def extended(script: Script) -> None:
    """Whoever comes within the delay makes it begin anew when it is over, once for all of them."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    first = a.join(3)
    await script.parked(first)
    await script.wait(1)
    second = b.join(3)
    await script.parked(second)
    await script.wait(3)
    await script.parked(first, second)
    await script.wait(2.5)
    await script.answered(first, second)


@scenario("delayed")
async def bounded(script: Script) -> None:
    """The delays together do not last longer than the longest rebalance timeout, here 4.5 s."""
    a = ClassicMember(script, "a", rebalance_ms=4_500)
    b = ClassicMember(script, "b", rebalance_ms=1_000)
    first = a.join(3)
    await script.parked(first)
    second = b.join(3)
    await script.parked(second)
    await script.wait(3)
    await script.parked(first, second)
    await script.wait(1.75)
    await script.answered(first, second)


@scenario("delayed")
async def leaving_meanwhile(script: Script) -> None:
    """Who leaves within the delay is answered that it is unknown; the others wait on."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await a.join()
    await b.join()
    first, second = a.join(), None
    await script.parked(first)
    second = b.join()
    await script.parked(second)
    await a.leave()
    await first
    await script.parked(second)
    await b.leave()
    await second
    await b.describe()
    await script.wait(7)
    await b.describe()


@scenario("delayed")
async def not_again(script: Script) -> None:
    """There is no delay for a group that has members; one that has become empty waits again."""
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    first = a.join(3)
    await script.parked(first)
    await script.wait(4)
    await first
    await a.sync({a: {"t": [0]}})
    second = b.join(3)
    await script.parked(second)
    await a.join()
    await second
    await a.leave()
    await b.leave()
    third = a.join(3, member_id="")
    await script.parked(third)
    await script.wait(1)
    await script.parked(third)
    await script.wait(3)
    await third
