"""Consumer protocol: silent members, with session timeouts of 3 s."""

from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import create_topic


@scenario("brief")
async def silent(script: Script) -> None:
    """A member that is silent for the session timeout is fenced, and its partitions are free."""
    await create_topic(script, partitions=2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await b.join()
    await a.heartbeat()
    await a.confirm()
    await b.heartbeat()
    for _ in range(3):
        await script.wait(1.25)
        await b.heartbeat()
    await b.confirm()
    await b.describe_consumer()
    await a.heartbeat()
    await a.join()


@scenario("brief")
async def all_silent(script: Script) -> None:
    """When all sessions have expired, the group is empty, and epochs continue."""
    await create_topic(script, partitions=2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await b.join()
    await script.wait(4.5)
    await a.describe_consumer()
    await a.heartbeat()
    await a.join()


@scenario("brief")
async def errors_do_not_keep_alive(script: Script) -> None:
    """A rejected heartbeat does not keep the session alive."""
    await create_topic(script)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await b.join()
    for _ in range(3):
        await script.wait(1.25)
        await a.heartbeat(epoch=77)
        await b.heartbeat()


@scenario("brief")
async def commits_do_not_keep_alive(script: Script) -> None:
    """Unlike in a classic group, commits do not keep the session alive."""
    await create_topic(script)
    a = ConsumerMember(script, "a")
    await a.join()
    for offset in range(3):
        await script.wait(1.25)
        await a.commit_as_member({"t": {0: offset}})


@scenario("brief")
async def temporarily_absent(script: Script) -> None:
    """A static member that left temporarily keeps its partitions for a session timeout, not longer."""
    await create_topic(script, partitions=2)
    a = ConsumerMember(script, "a")
    b = ConsumerMember(script, "b", instance_id="i")
    await a.join()
    await b.join()
    await a.heartbeat()
    await a.confirm()
    await b.heartbeat()
    await b.leave_temporarily()
    await a.describe_consumer()
    await script.wait(1.25)
    await a.heartbeat()
    await script.wait(1.25)
    await a.heartbeat()
    await script.wait(1.25)
    await a.heartbeat()
    await a.describe_consumer()
    await ConsumerMember(script, "c", instance_id="i").join()
