"""Migration from the classic protocol to the consumer protocol and back, with members and without."""

from tests.groups.golden.classic import ClassicMember, form_stable_group
from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.embedded import Assigned, Subscription
from tests.groups.golden.registry import scenario
from tests.groups.golden.scenarios.mixed_groups import one_classic, one_of_each
from tests.groups.golden.script import Script
from tests.groups.golden.topics import create_topic


@scenario()
async def empty_to_consumer(script: Script) -> None:
    """An empty classic group becomes a consumer protocol group; its offsets stay."""
    a = await one_classic(script)
    await a.commit_as_member({"t": {0: 5}})
    c = ConsumerMember(script, "c")
    await a.leave()
    await c.heartbeat(epoch=1)
    await c.join()
    await c.fetch_as_member(None)
    await c.describe()
    await c.describe_consumer()
    await c.list_groups()


@scenario()
async def empty_to_classic(script: Script) -> None:
    """An empty consumer protocol group becomes a classic one; its offsets stay."""
    await create_topic(script, partitions=2)
    c = ConsumerMember(script, "c")
    await c.join()
    await c.commit_as_member({"t": {0: 5}})
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
    """A group that consists of offsets alone can become either type."""
    await create_topic(script)
    c = ConsumerMember(script, "c")
    await c.commit({"t": {0: 5}})
    await c.join()
    await c.fetch_as_member(None)
    await c.describe_consumer()


@scenario()
async def upgrade(script: Script) -> None:
    """A consumer protocol member joins a classic group, which becomes a consumer protocol group."""
    a = await one_classic(script)
    c = ConsumerMember(script, "c")
    await c.join()
    await c.describe_consumer()
    await c.describe()
    await a.heartbeat()
    await a.join(protocols={"range": Subscription(("t",), owned={"t": [0, 1]})})
    await a.heartbeat()
    await a.sync()
    await c.heartbeat()
    await a.heartbeat()
    await a.join(protocols={"range": Subscription(("t",), owned={"t": [0]})})
    await a.sync()
    await a.heartbeat()
    await c.heartbeat()
    await c.describe_consumer()


@scenario()
async def upgrade_of_two(script: Script) -> None:
    """Two classic members keep their partitions when a third joins with the consumer protocol."""
    await create_topic(script, partitions=3)
    a = ClassicMember(script, "a")
    b = ClassicMember(script, "b", instance_id="i")
    await form_stable_group(script, a, b, shares={a: {"t": [0, 1]}, b: {"t": [2]}})
    c = ConsumerMember(script, "c")
    await c.join()
    await c.describe_consumer()
    await a.heartbeat()
    await b.heartbeat()
    await b.join(protocols={"range": Subscription(("t",), owned={"t": [2]})})
    await b.sync()
    await b.heartbeat()
    await a.join(protocols={"range": Subscription(("t",), owned={"t": [0]})})
    await a.sync()
    await c.heartbeat()
    await c.describe_consumer()


@scenario()
async def upgrade_while_preparing(script: Script) -> None:
    """A join that is pending when the group is converted has to be sent again."""
    await create_topic(script, partitions=2)
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    again = a.join()
    await script.pending(again)
    c = ConsumerMember(script, "c")
    await c.join()
    await again
    await b.heartbeat()
    await a.join()
    await a.sync()


@scenario()
async def upgrade_while_completing(script: Script) -> None:
    """A member whose sync is pending when the group is converted has to rejoin."""
    await create_topic(script, partitions=2)
    a, b = ClassicMember(script, "a"), ClassicMember(script, "b")
    await form_stable_group(script, a, b)
    again = a.join()
    await script.pending(again)
    await b.join()
    await again
    waiting = b.sync()
    await script.pending(waiting)
    c = ConsumerMember(script, "c")
    await c.join()
    await waiting
    await a.sync({a: {"t": [0]}})
    await a.heartbeat()
    await c.describe_consumer()


@scenario()
async def upgrade_rejected(script: Script) -> None:
    """Groups that cannot be converted: another protocol type, a custom assignor, malformed metadata."""
    await create_topic(script)
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
        await member.heartbeat()


@scenario()
async def user_data_in_subscription(script: Script) -> None:
    """User data in subscriptions does not prevent a conversion."""
    await create_topic(script, partitions=2)
    said = Subscription(("t",), version=3, user_data=b"sticky", generation=4, rack="r")
    a = ClassicMember(script, "a", protocols={"range": said})
    await form_stable_group(script, a, shares={a: {"t": [0, 1]}})
    c = ConsumerMember(script, "c")
    await c.join()
    await c.describe_consumer()
    await a.join()
    await a.sync()


@scenario()
async def downgrade(script: Script) -> None:
    """The last consumer protocol member leaves: the group is a classic one and rebalances."""
    a, c = await one_of_each(script)
    await c.leave()
    await a.describe()
    await a.describe_consumer()
    await a.heartbeat()
    await a.join()
    await a.sync({a: {"t": [0, 1]}})
    await a.describe()


@scenario()
async def downgrade_of_two(script: Script) -> None:
    """After the last consumer protocol member has left, the classic members continue in one generation."""
    a, c = await one_of_each(script)
    b = ClassicMember(script, "b")
    with script.summarized("b joins with the classic protocol"):
        await b.join()
        await b.join()
        await b.sync()
    await c.leave()
    await a.heartbeat()
    await b.heartbeat()
    await b.describe()
    again = a.join()
    await script.pending(again)
    await b.join()
    await again


@scenario()
async def downgrade_by_instance(script: Script) -> None:
    """A static member of the consumer protocol returns with the classic protocol."""
    await create_topic(script, partitions=2)
    c = ConsumerMember(script, "c", instance_id="i")
    await c.join()
    a = ClassicMember(script, "a", instance_id="i")
    await a.join()
    await c.leave_temporarily()
    await a.join()
    await a.describe()
    await a.describe_consumer()
    await a.sync({a: {"t": [0, 1]}})
    await a.heartbeat()


@scenario()
async def upgrade_by_instance(script: Script) -> None:
    """A static classic member returns with the consumer protocol."""
    a = await one_classic(script, instance_id="i")
    c = ConsumerMember(script, "c", instance_id="i")
    await c.join()
    await a.heartbeat()
    await c.heartbeat()
    await c.describe_consumer()


@scenario()
async def last_consumer_is_fenced(script: Script) -> None:
    """A consumer protocol member that is fenced for not revoking in time leaves a classic group."""
    await create_topic(script, partitions=2)
    c = ConsumerMember(script, "c", rebalance_ms=1_500)
    await c.join()
    a = ClassicMember(script, "a")
    await a.join()
    await a.join()
    await a.sync()
    await c.heartbeat()
    await script.wait(2.5)
    await c.heartbeat()
    await a.heartbeat()
    await a.describe()
