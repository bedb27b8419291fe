"""The consumer protocol: giving up partitions, and waiting for them."""

from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import make_topic


async def _two(script: Script, *, rebalance_ms: int = 60_000) -> tuple[ConsumerMember, ConsumerMember]:
    """a has all four partitions, b has just come."""
    await make_topic(script, partitions=4)
    a, b = ConsumerMember(script, "a", rebalance_ms=rebalance_ms), ConsumerMember(script, "b")
    await a.join()
    await b.join()
    return a, b


@scenario()
async def unacknowledged(script: Script) -> None:
    """A member stays where it is until it says that it no longer uses what it is to give up."""
    a, b = await _two(script)
    await a.beat()
    await a.beat()
    await a.beat(owned={"t": [0, 1, 2, 3]})
    await a.beat(owned={"t": [0, 1, 2]})
    await b.beat()
    await a.describe_consumer()
    await a.beat(owned={"t": [0, 1]})
    await b.beat()


@scenario()
async def acknowledged_with_less(script: Script) -> None:
    """What counts is that nothing to be given up is used; the rest need not be named."""
    a, b = await _two(script)
    await a.beat()
    await a.beat(owned={})
    await b.beat()
    await a.describe_consumer()


@scenario()
async def acknowledged_at_once(script: Script) -> None:
    """A member that does not use them yet gives partitions up in one step."""
    a, b = await _two(script)
    await a.beat(owned={})
    await b.beat()
    await a.describe_consumer()


@scenario()
async def released_one_by_one(script: Script) -> None:
    """Whoever waits for partitions of several others gets them as they come free."""
    await make_topic(script, partitions=6)
    a, b, c = (ConsumerMember(script, name) for name in "abc")
    await a.join()
    await b.join()
    await a.beat()
    await a.confirm()
    await b.beat()
    await c.join()
    await a.beat()
    await a.confirm()
    await c.beat()
    await c.describe_consumer()
    await b.beat()
    await b.confirm()
    await c.beat()
    await c.describe_consumer()


@scenario()
async def newcomer_while_revoking(script: Script) -> None:
    """The target moves while a member still gives up for the one before."""
    a, b = await _two(script)
    await a.beat()
    c = ConsumerMember(script, "c")
    await c.join()
    await a.beat()
    await a.confirm()
    await a.confirm()
    await b.beat()
    await c.beat()
    await a.describe_consumer()


@scenario()
async def newcomer_goes_again(script: Script) -> None:
    """The one for whom partitions were to be given up leaves before they are."""
    a, b = await _two(script)
    await a.beat()
    await b.leave()
    await a.beat()
    await a.describe_consumer()
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def revoking_member_leaves(script: Script) -> None:
    """Who leaves instead of giving up frees everything."""
    a, b = await _two(script)
    await a.beat()
    await a.leave()
    await b.beat()
    await b.describe_consumer()


@scenario()
async def revoking_member_joins_again(script: Script) -> None:
    """Who begins again at epoch 0 uses nothing any more."""
    a, b = await _two(script)
    await a.beat()
    await a.join()
    await b.beat()
    await a.describe_consumer()


@scenario()
async def too_slow(script: Script) -> None:
    """Who beats but does not give up within its rebalance timeout is fenced; its partitions are free."""
    a, b = await _two(script, rebalance_ms=2_000)
    await a.beat()
    await script.wait(1)
    await a.beat()
    await b.beat()
    await script.wait(2)
    await b.beat()
    await a.beat()
    await b.describe_consumer()
    await a.join()


@scenario()
async def fast_enough(script: Script) -> None:
    """Who gives up within its rebalance timeout is left alone afterwards."""
    a, b = await _two(script, rebalance_ms=2_000)
    await a.beat()
    await a.confirm()
    await script.wait(3)
    await a.beat()
    await b.beat()
    await b.describe_consumer()


@scenario()
async def not_told_yet(script: Script) -> None:
    """The rebalance timeout begins when a member is told, not when the target moves."""
    a, b = await _two(script, rebalance_ms=2_000)
    await script.wait(3)
    await a.beat()
    await script.wait(1)
    await a.confirm()
    await b.beat()
