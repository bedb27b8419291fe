"""Migration policies: the same requests under each policy."""

from tests.groups.golden.classic import ClassicMember, form_stable_group
from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import create_topic


async def _upwards(script: Script) -> None:
    """A consumer protocol member joins a classic group, and leaves it again."""
    await create_topic(script, partitions=2)
    a = ClassicMember(script, "a")
    await form_stable_group(script, a, shares={a: {"t": [0, 1]}})
    c = ConsumerMember(script, "c")
    await c.join()
    await a.heartbeat()
    await a.describe()
    await c.leave()
    await a.heartbeat()
    await a.describe()
    await a.leave()
    await c.join()


async def _downwards(script: Script) -> None:
    """A classic member joins a consumer protocol group, and stays as the only one."""
    await create_topic(script, partitions=2)
    c = ConsumerMember(script, "c")
    await c.join()
    a = ClassicMember(script, "a")
    await a.join()
    await a.join(3, member_id="")
    await a.describe_consumer()
    await c.leave()
    await a.heartbeat()
    await a.describe()
    await a.describe_consumer()
    await a.leave()
    await a.join(3, member_id="")


@scenario("upgrade")
async def upgrade_upwards(script: Script) -> None:
    """Policy upgrade: a classic group is converted for good, even if its consumer protocol member leaves."""
    await _upwards(script)


@scenario("upgrade")
async def upgrade_downwards(script: Script) -> None:
    """Policy upgrade: a consumer protocol group admits classic members and is not converted."""
    await _downwards(script)


@scenario("downgrade")
async def downgrade_upwards(script: Script) -> None:
    """Policy downgrade: a classic group with members is not converted."""
    await _upwards(script)


@scenario("downgrade")
async def downgrade_downwards(script: Script) -> None:
    """Policy downgrade: a consumer protocol group is converted when only classic members are left."""
    await _downwards(script)


@scenario("disabled")
async def disabled_upwards(script: Script) -> None:
    """Policy disabled: a classic group with members rejects consumer protocol members."""
    await _upwards(script)


@scenario("disabled")
async def disabled_downwards(script: Script) -> None:
    """Policy disabled: a consumer protocol group with members rejects classic ones."""
    await _downwards(script)


@scenario("disabled")
async def disabled_without_members(script: Script) -> None:
    """Policy disabled: a group without members becomes what its next member requires."""
    await create_topic(script)
    c, a = ConsumerMember(script, "c"), ClassicMember(script, "a")
    await c.join()
    await c.leave()
    await a.join(3)
    await a.sync({a: {"t": [0]}})
    await c.heartbeat(epoch=1)
    await a.leave()
    await c.join()
    await a.join(member_id="")
    await a.sync(member_id="c", generation=c.epoch)
    await a.heartbeat(member_id="c", generation=c.epoch)
    await a.leave(member_id="c")
    await c.heartbeat()
