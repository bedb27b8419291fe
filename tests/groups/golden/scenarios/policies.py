"""Which ways of migration are open: the same requests under each policy."""

from tests.groups.golden.classic import ClassicMember, form
from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import make_topic


async def _upwards(script: Script) -> None:
    """A member of the consumer protocol comes into a classic group, and leaves it again."""
    await make_topic(script, partitions=2)
    a = ClassicMember(script, "a")
    await form(script, a, shares={a: {"t": [0, 1]}})
    c = ConsumerMember(script, "c")
    await c.join()
    await a.beat()
    await a.describe()
    await c.leave()
    await a.beat()
    await a.describe()
    await a.leave()
    await c.join()


async def _downwards(script: Script) -> None:
    """A classic member comes into a group of the consumer protocol, and stays alone."""
    await make_topic(script, partitions=2)
    c = ConsumerMember(script, "c")
    await c.join()
    a = ClassicMember(script, "a")
    await a.join()
    await a.join(3, member_id="")
    await a.describe_consumer()
    await c.leave()
    await a.beat()
    await a.describe()
    await a.describe_consumer()
    await a.leave()
    await a.join(3, member_id="")


@scenario("upgrade")
async def upgrade_upwards(script: Script) -> None:
    """Policy upgrade: a classic group is converted, and stays so when its consumer has left."""
    await _upwards(script)


@scenario("upgrade")
async def upgrade_downwards(script: Script) -> None:
    """Policy upgrade: a group of the consumer protocol takes classic members and is not converted."""
    await _downwards(script)


@scenario("downgrade")
async def downgrade_upwards(script: Script) -> None:
    """Policy downgrade: a classic group with members is not converted."""
    await _upwards(script)


@scenario("downgrade")
async def downgrade_downwards(script: Script) -> None:
    """Policy downgrade: a group of the consumer protocol becomes a classic one when only such are left."""
    await _downwards(script)


@scenario("disabled")
async def disabled_upwards(script: Script) -> None:
    """Policy disabled: a classic group with members is closed to the consumer protocol."""
    await _upwards(script)


@scenario("disabled")
async def disabled_downwards(script: Script) -> None:
    """Policy disabled: a group of the consumer protocol, as long as it has members, and classic ones."""
    await _downwards(script)


@scenario("disabled")
async def disabled_to_and_fro(script: Script) -> None:
    """Policy disabled: a group without members becomes what its next member wants."""
    await make_topic(script)
    c, a = ConsumerMember(script, "c"), ClassicMember(script, "a")
    await c.join()
    await c.leave()
    await a.join(3)
    await a.sync({a: {"t": [0]}})
    await c.beat(epoch=1)
    await a.leave()
    await c.join()
    await a.join(member_id="")
    await a.sync(member_id="c", generation=c.epoch)
    await a.beat(member_id="c", generation=c.epoch)
    await a.leave(member_id="c")
    await c.beat()
