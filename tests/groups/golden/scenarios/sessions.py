"""The consumer protocol: members that fall silent, with sessions of 3 s."""

from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import make_topic


@scenario("brief")
async def silent(script: Script) -> None:
    """Who is silent for a session is fenced, and its partitions are free."""
    await make_topic(script, partitions=2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await b.join()
    await a.beat()
    await a.confirm()
    await b.beat()
    for _ in range(3):
        await script.wait(1.25)
        await b.beat()
    await b.confirm()
    await b.describe_consumer()
    await a.beat()
    await a.join()


@scenario("brief")
async def all_silent(script: Script) -> None:
    """When all have been silent for a session, the group is empty, and counts on."""
    await make_topic(script, partitions=2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await b.join()
    await script.wait(4.5)
    await a.describe_consumer()
    await a.beat()
    await a.join()


@scenario("brief")
async def errors_do_not_keep_alive(script: Script) -> None:
    """A heartbeat that is refused is none."""
    await make_topic(script)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await b.join()
    for _ in range(3):
        await script.wait(1.25)
        await a.beat(epoch=77)
        await b.beat()


@scenario("brief")
async def commits_do_not_keep_alive(script: Script) -> None:
    """Unlike in a classic group, committing offsets is no sign of life."""
    await make_topic(script)
    a = ConsumerMember(script, "a")
    await a.join()
    for offset in range(3):
        await script.wait(1.25)
        await a.commit_mine({"t": {0: offset}})


@scenario("brief")
async def gone_for_now(script: Script) -> None:
    """A static member that left for a while keeps its partitions for a session, not longer."""
    await make_topic(script, partitions=2)
    a = ConsumerMember(script, "a")
    b = ConsumerMember(script, "b", instance_id="i")
    await a.join()
    await b.join()
    await a.beat()
    await a.confirm()
    await b.beat()
    await b.leave_for_now()
    await a.describe_consumer()
    await script.wait(1.25)
    await a.beat()
    await script.wait(1.25)
    await a.beat()
    await script.wait(1.25)
    await a.beat()
    await a.describe_consumer()
    await ConsumerMember(script, "c", instance_id="i").join()
