"""The consumer protocol: static members that leave for a while and come back under another id."""

from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import make_topic


async def _settled(script: Script) -> tuple[ConsumerMember, ConsumerMember]:
    """Two static members with two partitions each, both at the same epoch."""
    await make_topic(script, partitions=4)
    a, b = (ConsumerMember(script, name, instance_id=f"i-{name}") for name in "ab")
    with script.offstage("a and b have two partitions each, as i-a and i-b"):
        await a.join()
        await b.join()
        await a.beat()
        await a.confirm()
        await b.beat()
        await b.confirm()
    return a, b


@scenario()
async def unreleased(script: Script) -> None:
    """As long as an instance has not left, nobody else can be it."""
    await _settled(script)
    await ConsumerMember(script, "c", instance_id="i-b").join()
    await ConsumerMember(script, "d", member_id="", instance_id="i-b").join(version=0)


@scenario()
async def coming_back(script: Script) -> None:
    """Who left for a while comes back under another id to what it had; nobody else moves."""
    a, b = await _settled(script)
    await b.leave_for_now()
    await a.beat()
    await a.describe_consumer()
    c = ConsumerMember(script, "c", instance_id="i-b")
    await c.join()
    await c.confirm()
    await a.beat()
    await a.describe_consumer()


@scenario()
async def coming_back_as_oneself(script: Script) -> None:
    """Who left for a while may come back under its old id."""
    a, b = await _settled(script)
    known = b.epoch
    await b.leave_for_now()
    await b.beat(epoch=known)
    await b.join()
    await a.beat()
    await b.join()
    await a.describe_consumer()


@scenario()
async def coming_back_with_other_topics(script: Script) -> None:
    """Who comes back with another subscription gets another share."""
    a, b = await _settled(script)
    await make_topic(script, "u", 2)
    await b.leave_for_now()
    c = ConsumerMember(script, "c", instance_id="i-b")
    await c.join(("u",))
    await a.beat()
    await c.beat()
    await a.describe_consumer()


@scenario()
async def coming_back_late(script: Script) -> None:
    """While an instance is away others come and go; it finds what is its share then."""
    a, b = await _settled(script)
    await b.leave_for_now()
    await a.leave()
    c, d = ConsumerMember(script, "c"), ConsumerMember(script, "d", instance_id="i-b")
    await c.join()
    await c.describe_consumer()
    await d.join()
    await c.beat()
    await d.beat()
    await c.describe_consumer()


@scenario()
async def fenced(script: Script) -> None:
    """Who was replaced is fenced, or unknown if it does not say which instance it was."""
    _, b = await _settled(script)
    known = b.epoch
    await b.leave_for_now()
    await ConsumerMember(script, "c", instance_id="i-b").join()
    await b.beat(epoch=known)
    await b.leave()
    await b.leave_for_now()
    await b.commit_mine({"t": {0: 1}}, epoch=known)
    await b.join()
    b.instance_id = None
    await b.beat(epoch=known)
    await b.leave()


@scenario()
async def wrong_instances(script: Script) -> None:
    """An id must belong to the instance that is named; an instance may be left out."""
    a, b = await _settled(script)
    a.instance_id = "i-b"
    await a.beat()
    await a.leave()
    await a.leave_for_now()
    a.instance_id = "i-c"
    await a.beat()
    await a.leave()
    await a.leave_for_now()
    a.instance_id = None
    await a.beat()
    await a.leave()
    await b.describe_consumer()


@scenario()
async def leaving_for_good(script: Script) -> None:
    """A static member that leaves for good is gone, and so is its instance."""
    a, b = await _settled(script)
    await b.leave()
    await a.beat()
    await ConsumerMember(script, "c", instance_id="i-b").join()


@scenario()
async def leaving_while_revoking(script: Script) -> None:
    """Who leaves for a while in the middle of giving up has given up."""
    a, b = await _settled(script)
    c = ConsumerMember(script, "c")
    await c.join()
    await a.beat()
    await a.leave_for_now()
    await c.beat()
    await c.describe_consumer()
    await ConsumerMember(script, "d", instance_id="i-a").join()
    await b.beat()


@scenario()
async def a_dynamic_member_becomes_static(script: Script) -> None:
    """A member may take an instance id later, when it begins again, and lose none by not naming it."""
    await make_topic(script, partitions=2)
    a = ConsumerMember(script, "a")
    await a.join()
    a.instance_id = "i"
    await a.beat()
    await a.join()
    await a.describe_consumer()
    a.instance_id = None
    await a.beat()
    await a.describe_consumer()
