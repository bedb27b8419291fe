"""From the classic protocol to the consumer protocol and back, with members and without."""

from tests.groups.golden.classic import ClassicMember, form
from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.embedded import Assigned, Subscription
from tests.groups.golden.registry import scenario
from tests.groups.golden.scenarios.mixed import one_classic, one_of_each
from tests.groups.golden.script import Script
from tests.groups.golden.topics import make_topic


@scenario()
async def empty_to_consumer(script: Script) -> None:
    """An empty classic group becomes one of the consumer protocol; its offsets stay."""
    a = await one_classic(script)
    await a.commit_mine({"t": {0: 5}})
    c = ConsumerMember(script, "c")
    await a.leave()
    await c.beat(epoch=1)
    await c.join()
    await c.fetch_mine(None)
    await c.describe()
    await c.describe_consumer()
    await c.list_groups()


@scenario()
async def empty_to_classic(script: Script) -> None:
    """An empty group of the consumer protocol becomes a classic one; its offsets stay."""
    await make_topic(script, partitions=2)
    c = ConsumerMember(script, "c")
    await c.join()
    await c.commit_mine({"t": {0: 5}})
    await c.leave()
    a = ClassicMember(script, "a")
    await a.join()
    await a.describe()
    await a.join()
    await a.sync({a: {"t": [0, 1]}})
    await a.fetch(None)
    await a.describe()
    await a.list_groups()


@scenario()
async def offsets_only(script: Script) -> None:
    """A group that is nothing but offsets can become either."""
    await make_topic(script)
    c = ConsumerMember(script, "c")
    await c.commit({"t": {0: 5}})
    await c.join()
    await c.fetch_mine(None)
    await c.describe_consumer()


@scenario()
async def upgrade(script: Script) -> None:
    """A member of the consumer protocol comes into a classic group, which becomes one of its kind."""
    a = await one_classic(script)
    c = ConsumerMember(script, "c")
    await c.join()
    await c.describe_consumer()
    await c.describe()
    await a.beat()
    await a.join(protocols={"range": Subscription(("t",), owned={"t": [0, 1]})})
    await a.beat()
    await a.sync()
    await c.beat()
    await a.beat()
    await a.join(protocols={"range": Subscription(("t",), owned={"t": [0]})})
    await a.sync()
    await a.beat()
    await c.beat()
    await c.describe_consumer()


@scenario()
async def upgrade_of_two(script: Script) -> None:
    """Two classic members keep what they have when a third comes with the consumer protocol."""
    await make_topic(script, partitions=3)
    a = ClassicMember(script, "a")
    b = ClassicMember(script, "b", instance_id="i")
    await form(script, a, b, shares={a: {"t": [0, 1]}, b: {"t": [2]}})
    c = ConsumerMember(script, "c")
    await c.join()
    await c.describe_consumer()
    await a.beat()
    await b.beat()
    await b.join(protocols={"range": Subscription(("t",), owned={"t": [2]})})
    await b.sync()
    await b.beat()
    await a.join(protocols={"range": Subscription(("t",), owned={"t": [0]})})
    await a.sync()
    await c.beat()
    await c.describe_consumer()


@scenario()
async def upgrade_while_preparing(script: Script) -> None:
    """Who waits in a join when the group is converted has to join again."""
    await make_topic(script, partitions=2)
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form(script, a, b)
    again = a.join()
    await script.parked(again)
    c = ConsumerMember(script, "c")
    await c.join()
    await again
    await b.beat()
    await a.join()
    await a.sync()


@scenario()
async def upgrade_while_completing(script: Script) -> None:
    """Who waits in a sync when the group is converted has to join again."""
    await make_topic(script, partitions=2)
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form(script, a, b)
    again = a.join()
    await script.parked(again)
    await b.join()
    await again
    waiting = b.sync()
    await script.parked(waiting)
    c = ConsumerMember(script, "c")
    await c.join()
    await waiting
    await a.sync({a: {"t": [0]}})
    await a.beat()
    await c.describe_consumer()


@scenario()
async def upgrade_refused(script: Script) -> None:
    """Groups that cannot be converted: another type, an assignor of its own, bytes that cannot be read."""
    await make_topic(script)
    other = ClassicMember(script, "other", protocols={"v1": b"opaque"}, group="other")
    await other.join(3, protocol_type="connect")
    await other.sync({other: b"opaque"})
    await ConsumerMember(script, "c", group="other").join()
    custom = ClassicMember(script, "custom", group="custom")
    await custom.join(3)
    await custom.sync({custom: Assigned({}, user_data=b"mine").encode()})
    await ConsumerMember(script, "c", group="custom").join()
    broken = ClassicMember(script, "broken", group="broken", protocols={"range": b"\x00"})
    await broken.join(3)
    await broken.sync({broken: b""})
    await ConsumerMember(script, "c", group="broken").join()
    pending = ClassicMember(script, "pending", group="pending")
    await pending.join()
    await ConsumerMember(script, "c", group="pending").join()
    await pending.join()
    for member in (other, custom, broken):
        await member.beat()


@scenario()
async def user_data_in_subscription(script: Script) -> None:
    """What a member says of itself besides its topics does not keep a group from being converted."""
    await make_topic(script, partitions=2)
    said = Subscription(("t",), version=3, user_data=b"sticky", generation=4, rack="r")
    a = ClassicMember(script, "a", protocols={"range": said})
    await form(script, a, shares={a: {"t": [0, 1]}})
    c = ConsumerMember(script, "c")
    await c.join()
    await c.describe_consumer()
    await a.join()
    await a.sync()


@scenario()
async def downgrade(script: Script) -> None:
    """The last member of the consumer protocol leaves: the group is a classic one and rebalances."""
    a, c = await one_of_each(script)
    await c.leave()
    await a.describe()
    await a.describe_consumer()
    await a.beat()
    await a.join()
    await a.sync({a: {"t": [0, 1]}})
    await a.describe()


@scenario()
async def downgrade_of_two(script: Script) -> None:
    """After the last one of the consumer protocol has left, classic members go on in one generation."""
    a, c = await one_of_each(script)
    b = ClassicMember(script, "b")
    with script.offstage("b joins with the classic protocol"):
        await b.join()
        await b.join()
        await b.sync()
    await c.leave()
    await a.beat()
    await b.beat()
    await b.describe()
    again = a.join()
    await script.parked(again)
    await b.join()
    await again


@scenario()
async def downgrade_by_instance(script: Script) -> None:
    """A static member of the consumer protocol comes back with the classic one."""
    await make_topic(script, partitions=2)
    c = ConsumerMember(script, "c", instance_id="i")
    await c.join()
    a = ClassicMember(script, "a", instance_id="i")
    await a.join()
    await c.leave_for_now()
    await a.join()
    await a.describe()
    await a.describe_consumer()
    await a.sync({a: {"t": [0, 1]}})
    await a.beat()


@scenario()
async def upgrade_by_instance(script: Script) -> None:
    """A static classic member comes back with the consumer protocol."""
    a = await one_classic(script, instance_id="i")
    c = ConsumerMember(script, "c", instance_id="i")
    await c.join()
    await a.beat()
    await c.beat()
    await c.describe_consumer()


@scenario()
async def last_consumer_dies_of_slowness(script: Script) -> None:
    """A member of the consumer protocol that is fenced for its slowness leaves a classic group behind."""
    await make_topic(script, partitions=2)
    c = ConsumerMember(script, "c", rebalance_ms=1_500)
    await c.join()
    a = ClassicMember(script, "a")
    await a.join()
    await a.join()
    await a.sync()
    await c.beat()
    await script.wait(2.5)
    await c.beat()
    await a.beat()
    await a.describe()
