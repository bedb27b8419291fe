"""Consumer protocol: revoking partitions, and waiting for others to revoke."""

from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import create_topic


async def _two(script: Script, *, rebalance_ms: int = 60_000) -> tuple[ConsumerMember, ConsumerMember]:
    """a has all four partitions, b has just joined."""
    await create_topic(script, partitions=4)
    a, b = ConsumerMember(script, "a", rebalance_ms=rebalance_ms), ConsumerMember(script, "b")
    await a.join()
    await b.join()
    return a, b


@scenario()
async def unacknowledged(script: Script) -> None:
    """A member does not advance until it reports that it no longer owns what it has to revoke."""
    a, b = await _two(script)
    await a.heartbeat()
    await a.heartbeat()
    await a.heartbeat(owned={"t": [0, 1, 2, 3]})
    await a.heartbeat(owned={"t": [0, 1, 2]})
    await b.heartbeat()
    await a.describe_consumer()
    await a.heartbeat(owned={"t": [0, 1]})
    await b.heartbeat()


@scenario()
async def acknowledged_with_less(script: Script) -> None:
    """Only partitions that have to be revoked matter in the report; the others may be left out."""
    a, b = await _two(script)
    await a.heartbeat()
    await a.heartbeat(owned={})
    await b.heartbeat()
    await a.describe_consumer()


@scenario()
async def acknowledged_at_once(script: Script) -> None:
    """A member that does not own the partitions yet revokes them in one step."""
    a, b = await _two(script)
    await a.heartbeat(owned={})
    await b.heartbeat()
    await a.describe_consumer()


@scenario()
async def released_one_by_one(script: Script) -> None:
    """A member that waits for partitions of several others gets them as they are released."""
    await create_topic(script, partitions=6)
    a, b, c = (ConsumerMember(script, name) for name in "abc")
    await a.join()
    await b.join()
    await a.heartbeat()
    await a.confirm()
    await b.heartbeat()
    await c.join()
    await a.heartbeat()
    await a.confirm()
    await c.heartbeat()
    await c.describe_consumer()
    await b.heartbeat()
    await b.confirm()
    await c.heartbeat()
    await c.describe_consumer()


@scenario()
async def new_member_while_revoking(script: Script) -> None:
    """The target changes while a member is still revoking for the previous one."""
    a, b = await _two(script)
    await a.heartbeat()
    c = ConsumerMember(script, "c")
    await c.join()
    await a.heartbeat()
    await a.confirm()
    await a.confirm()
    await b.heartbeat()
    await c.heartbeat()
    await a.describe_consumer()


@scenario()
async def new_member_leaves_again(script: Script) -> None:
    """The member that the partitions were revoked for leaves before they are released."""
    a, b = await _two(script)
    await a.heartbeat()
    await b.leave()
    await a.heartbeat()
    await a.describe_consumer()
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def revoking_member_leaves(script: Script) -> None:
    """A member that leaves instead of revoking releases everything."""
    a, b = await _two(script)
    await a.heartbeat()
    await a.leave()
    await b.heartbeat()
    await b.describe_consumer()


@scenario()
async def revoking_member_joins_again(script: Script) -> None:
    """A member that joins again with epoch 0 owns nothing."""
    a, b = await _two(script)
    await a.heartbeat()
    await a.join()
    await b.heartbeat()
    await a.describe_consumer()


@scenario()
async def too_slow(script: Script) -> None:
    """A member that does not revoke within its rebalance timeout is fenced; its partitions are free."""
    a, b = await _two(script, rebalance_ms=2_000)
    await a.heartbeat()
    await script.wait(1)
    await a.heartbeat()
    await b.heartbeat()
    await script.wait(2)
    await b.heartbeat()
    await a.heartbeat()
    await b.describe_consumer()
    await a.join()


@scenario()
async def fast_enough(script: Script) -> None:
    """A member that revokes within its rebalance timeout is not fenced afterwards."""
    a, b = await _two(script, rebalance_ms=2_000)
    await a.heartbeat()
    await a.confirm()
    await script.wait(3)
    await a.heartbeat()
    await b.heartbeat()
    await b.describe_consumer()


@scenario()
async def not_asked_yet(script: Script) -> None:
    """The rebalance timeout begins when the member is asked to revoke, not when the target changes."""
    a, b = await _two(script, rebalance_ms=2_000)
    await script.wait(3)
    await a.heartbeat()
    await script.wait(1)
    await a.confirm()
    await b.heartbeat()
