"""Consumer protocol: targets are computed at most once per interval, here 4 s."""

from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import create_topic


@scenario("spaced")
async def new_member_waits(script: Script) -> None:
    """A member that joins soon after an assignment waits for the next one."""
    await create_topic(script, partitions=2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await b.join()
    await b.heartbeat()
    await a.heartbeat()
    await a.describe_consumer()
    await script.wait(5)
    await a.describe_consumer()
    await b.heartbeat()
    await a.heartbeat()
    await a.confirm()
    await b.heartbeat()
    await a.describe_consumer()


@scenario("spaced")
async def several_changes_are_one(script: Script) -> None:
    """Changes between two assignments are handled by one of them."""
    await create_topic(script, partitions=3)
    a, b, c = (ConsumerMember(script, name) for name in "abc")
    await a.join()
    await b.join()
    await c.join()
    await b.leave()
    await b.join()
    await a.describe_consumer()
    await script.wait(5)
    await a.heartbeat()
    await a.confirm()
    await b.heartbeat()
    await c.heartbeat()
    await a.describe_consumer()


@scenario("spaced")
async def one_leaves(script: Script) -> None:
    """Partitions of a member that left wait for the next assignment, too."""
    await create_topic(script, partitions=2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await script.wait(5)
    await b.join()
    await a.heartbeat()
    await a.confirm()
    await b.heartbeat()
    await b.leave()
    await a.heartbeat()
    await a.describe_consumer()
    await script.wait(5)
    await a.heartbeat()


@scenario("spaced")
async def dropped_topics_at_once(script: Script) -> None:
    """Unsubscribed topics are revoked without waiting for an assignment."""
    await create_topic(script, "t", 2)
    await create_topic(script, "u", 1)
    a = ConsumerMember(script, "a")
    await a.join(("t", "u"))
    await a.confirm()
    await a.heartbeat(topics=("t",))
    await a.describe_consumer()
    await a.confirm()
    await a.describe_consumer()
    await script.wait(5)
    await a.heartbeat()
    await a.describe_consumer()


@scenario("spaced")
async def alone_again(script: Script) -> None:
    """Even a single member waits if the group has just computed an assignment."""
    await create_topic(script, partitions=2)
    a = ConsumerMember(script, "a")
    await a.join()
    await a.leave()
    await a.join()
    await a.describe_consumer()
    await script.wait(5)
    await a.heartbeat()
    await a.describe_consumer()
