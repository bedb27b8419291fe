"""Consumer protocol: static members that leave temporarily and return under another id."""

from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import create_topic


async def _settled(script: Script) -> tuple[ConsumerMember, ConsumerMember]:
    """Two static members with two partitions each, both at the same epoch."""
    await create_topic(script, partitions=4)
    a, b = (ConsumerMember(script, name, instance_id=f"i-{name}") for name in "ab")
    with script.summarized("a and b have two partitions each, as i-a and i-b"):
        await a.join()
        await b.join()
        await a.heartbeat()
        await a.confirm()
        await b.heartbeat()
        await b.confirm()
    return a, b


@scenario()
async def unreleased(script: Script) -> None:
    """No other member may use an instance id until its member has left."""
    await _settled(script)
    await ConsumerMember(script, "c", instance_id="i-b").join()
    await ConsumerMember(script, "d", member_id="", instance_id="i-b").join(version=0)


@scenario()
async def returning(script: Script) -> None:
    """A member that left temporarily returns under another id to its partitions; no other member moves."""
    a, b = await _settled(script)
    await b.leave_temporarily()
    await a.heartbeat()
    await a.describe_consumer()
    c = ConsumerMember(script, "c", instance_id="i-b")
    await c.join()
    await c.confirm()
    await a.heartbeat()
    await a.describe_consumer()


@scenario()
async def returning_under_the_same_id(script: Script) -> None:
    """A member that left temporarily may return under its old id."""
    a, b = await _settled(script)
    known = b.epoch
    await b.leave_temporarily()
    await b.heartbeat(epoch=known)
    await b.join()
    await a.heartbeat()
    await b.join()
    await a.describe_consumer()


@scenario()
async def returning_with_other_topics(script: Script) -> None:
    """A member that returns with another subscription gets another assignment."""
    a, b = await _settled(script)
    await create_topic(script, "u", 2)
    await b.leave_temporarily()
    c = ConsumerMember(script, "c", instance_id="i-b")
    await c.join(("u",))
    await a.heartbeat()
    await c.heartbeat()
    await a.describe_consumer()


@scenario()
async def returning_late(script: Script) -> None:
    """While a static member is absent, others join and leave; it returns to its current target."""
    a, b = await _settled(script)
    await b.leave_temporarily()
    await a.leave()
    c, d = ConsumerMember(script, "c"), ConsumerMember(script, "d", instance_id="i-b")
    await c.join()
    await c.describe_consumer()
    await d.join()
    await c.heartbeat()
    await d.heartbeat()
    await c.describe_consumer()


@scenario()
async def fenced(script: Script) -> None:
    """A member that was replaced is fenced, or unknown if it omits its instance id."""
    _, b = await _settled(script)
    known = b.epoch
    await b.leave_temporarily()
    await ConsumerMember(script, "c", instance_id="i-b").join()
    await b.heartbeat(epoch=known)
    await b.leave()
    await b.leave_temporarily()
    await b.commit_as_member({"t": {0: 1}}, epoch=known)
    await b.join()
    b.instance_id = None
    await b.heartbeat(epoch=known)
    await b.leave()


@scenario()
async def wrong_instances(script: Script) -> None:
    """A member id must belong to the instance id that is sent; the instance id may be omitted."""
    a, b = await _settled(script)
    a.instance_id = "i-b"
    await a.heartbeat()
    await a.leave()
    await a.leave_temporarily()
    a.instance_id = "i-c"
    await a.heartbeat()
    await a.leave()
    await a.leave_temporarily()
    a.instance_id = None
    await a.heartbeat()
    await a.leave()
    await b.describe_consumer()


@scenario()
async def leaving_for_good(script: Script) -> None:
    """A static member that leaves for good is removed with its instance id."""
    a, b = await _settled(script)
    await b.leave()
    await a.heartbeat()
    await ConsumerMember(script, "c", instance_id="i-b").join()


@scenario()
async def leaving_while_revoking(script: Script) -> None:
    """A member that leaves temporarily during a revocation has revoked."""
    a, b = await _settled(script)
    c = ConsumerMember(script, "c")
    await c.join()
    await a.heartbeat()
    await a.leave_temporarily()
    await c.heartbeat()
    await c.describe_consumer()
    await ConsumerMember(script, "d", instance_id="i-a").join()
    await b.heartbeat()


@scenario()
async def a_dynamic_member_becomes_static(script: Script) -> None:
    """A member may take an instance id when it joins again, and keeps it if it omits it later."""
    await create_topic(script, partitions=2)
    a = ConsumerMember(script, "a")
    await a.join()
    a.instance_id = "i"
    await a.heartbeat()
    await a.join()
    await a.describe_consumer()
    a.instance_id = None
    await a.heartbeat()
    await a.describe_consumer()
