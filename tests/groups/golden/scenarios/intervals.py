"""The consumer protocol: assignments are not made more often than every so many seconds, here 4."""

from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import make_topic


@scenario("spaced")
async def newcomer_waits(script: Script) -> None:
    """Who comes soon after an assignment has to wait for the next one."""
    await make_topic(script, partitions=2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await b.join()
    await b.beat()
    await a.beat()
    await a.describe_consumer()
    await script.wait(5)
    await a.describe_consumer()
    await b.beat()
    await a.beat()
    await a.confirm()
    await b.beat()
    await a.describe_consumer()


@scenario("spaced")
async def several_changes_are_one(script: Script) -> None:
    """What changes between two assignments is dealt with in one."""
    await make_topic(script, partitions=3)
    a, b, c = (ConsumerMember(script, name) for name in "abc")
    await a.join()
    await b.join()
    await c.join()
    await b.leave()
    await b.join()
    await a.describe_consumer()
    await script.wait(5)
    await a.beat()
    await a.confirm()
    await b.beat()
    await c.beat()
    await a.describe_consumer()


@scenario("spaced")
async def one_leaves(script: Script) -> None:
    """What a member that has gone leaves behind waits for the next assignment, too."""
    await make_topic(script, partitions=2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await script.wait(5)
    await b.join()
    await a.beat()
    await a.confirm()
    await b.beat()
    await b.leave()
    await a.beat()
    await a.describe_consumer()
    await script.wait(5)
    await a.beat()


@scenario("spaced")
async def dropped_topics_at_once(script: Script) -> None:
    """What a member no longer subscribes to is taken from it without waiting for an assignment."""
    await make_topic(script, "t", 2)
    await make_topic(script, "u", 1)
    a = ConsumerMember(script, "a")
    await a.join(("t", "u"))
    await a.confirm()
    await a.beat(topics=("t",))
    await a.describe_consumer()
    await a.confirm()
    await a.describe_consumer()
    await script.wait(5)
    await a.beat()
    await a.describe_consumer()


@scenario("spaced")
async def alone_again(script: Script) -> None:
    """Even a member that is alone waits, if the group has made an assignment just before."""
    await make_topic(script, partitions=2)
    a = ConsumerMember(script, "a")
    await a.join()
    await a.leave()
    await a.join()
    await a.describe_consumer()
    await script.wait(5)
    await a.beat()
    await a.describe_consumer()
