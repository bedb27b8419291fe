"""Consumer protocol (KIP-848): members join, share partitions and leave."""

from tests.groups.golden.classic import ClassicMember
from tests.groups.golden.client import Client
from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import create_topic


@scenario()
async def one_member(script: Script) -> None:
    """A single member is assigned everything, once."""
    await create_topic(script, partitions=3)
    a = ConsumerMember(script, "a")
    await a.join()
    await a.describe_consumer()
    await a.heartbeat()
    await a.confirm()
    known = a.epoch
    await a.leave()
    await a.describe_consumer()
    await a.heartbeat(epoch=known)


@scenario()
async def without_an_id(script: Script) -> None:
    """In version 0 a member may join without an id, and is assigned one."""
    await create_topic(script)
    a = ConsumerMember(script, "a", member_id="")
    await a.join(version=0)
    await a.heartbeat(0)
    await a.describe_consumer(version=0)
    await a.leave(0)


@scenario()
async def two_members(script: Script) -> None:
    """A second member gets its partitions once the first has revoked them: revoke, acknowledge, release."""
    await create_topic(script, partitions=4)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await a.confirm()
    await b.join()
    await a.describe_consumer()
    await b.heartbeat()
    await a.heartbeat()
    await a.describe_consumer()
    await b.heartbeat()
    await a.confirm()
    await a.describe_consumer()
    await b.heartbeat()
    await b.confirm()
    await a.heartbeat()
    await a.describe_consumer()


@scenario()
async def three_members(script: Script) -> None:
    """Three members join one after the other and reach their targets."""
    await create_topic(script, partitions=6)
    members = [ConsumerMember(script, name) for name in "abc"]
    for count, newcomer in enumerate(members):
        await newcomer.join()
        for _ in range(2):
            for member in members[: count + 1]:
                await member.confirm()
    await members[0].describe_consumer()


@scenario()
async def two_join_at_once(script: Script) -> None:
    """Two members join before the first has revoked anything."""
    await create_topic(script, partitions=3)
    a, b, c = (ConsumerMember(script, name) for name in "abc")
    await a.join()
    await b.join()
    await c.join()
    await a.heartbeat()
    await a.confirm()
    await b.heartbeat()
    await c.heartbeat()
    await a.describe_consumer()


@scenario()
async def one_leaves(script: Script) -> None:
    """A member that leaves frees its partitions for the others."""
    await create_topic(script, partitions=2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await b.join()
    await a.heartbeat()
    await a.confirm()
    await b.heartbeat()
    await b.leave()
    await a.describe_consumer()
    await a.heartbeat()
    await a.describe_consumer()


@scenario()
async def more_members_than_partitions(script: Script) -> None:
    """A member without partitions remains a member."""
    await create_topic(script)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await b.join()
    await a.heartbeat()
    await b.heartbeat()
    await a.describe_consumer()
    await a.leave()
    await b.heartbeat()


@scenario()
async def no_such_topic(script: Script) -> None:
    """A subscription to a topic that does not exist; the group becomes stable."""
    a = ConsumerMember(script, "a")
    await a.join(("nowhere",))
    await a.heartbeat()
    await a.describe_consumer()


@scenario()
async def no_topics(script: Script) -> None:
    """A member may subscribe to nothing, by an empty list or an empty regex."""
    await create_topic(script)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join(())
    await a.heartbeat()
    await b.join(None, regex="")
    await b.heartbeat()
    await a.heartbeat()
    await a.describe_consumer()


@scenario()
async def full_requests(script: Script) -> None:
    """A member that sends every field again gets every field again; nothing changes."""
    await create_topic(script, partitions=2)
    a = ConsumerMember(script, "a")
    await a.join()
    await a.heartbeat(topics=("t",), rebalance_ms=60_000, owned={"t": [0, 1]})
    await a.heartbeat(topics=("t",), rebalance_ms=60_000, owned={})
    await a.heartbeat(topics=("t",), rebalance_ms=60_000)
    await a.heartbeat(topics=("t",), owned={})
    await a.heartbeat(rebalance_ms=60_000, owned={})
    await a.heartbeat(rebalance_ms=1_000)
    await a.heartbeat(rack="somewhere")
    await a.describe_consumer()


@scenario()
async def joining_again(script: Script) -> None:
    """A member that joins again with epoch 0 keeps its place and gets its assignment."""
    await create_topic(script, partitions=2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await a.join()
    await b.join()
    await a.join()
    await a.confirm()
    await b.heartbeat()
    await b.join()
    await a.describe_consumer()


@scenario()
async def other_topics(script: Script) -> None:
    """A member subscribes to one more topic, and to one less."""
    await create_topic(script, "t", 2)
    await create_topic(script, "u", 1)
    a = ConsumerMember(script, "a")
    await a.join()
    await a.heartbeat(topics=("t", "u"))
    await a.confirm()
    await a.heartbeat(topics=("u",))
    await a.confirm()
    await a.heartbeat(topics=("u", "u"))
    await a.describe_consumer()
    await a.heartbeat(topics=())
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def different_topics(script: Script) -> None:
    """Members with different subscriptions share as evenly as those allow."""
    await create_topic(script, "t", 2)
    await create_topic(script, "u", 2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join(("t",))
    await b.join(("t", "u"))
    await a.confirm()
    await b.confirm()
    await a.describe_consumer()


@scenario()
async def range_assignor(script: Script) -> None:
    """The range assignor assigns the same partitions of each topic to the same member."""
    await create_topic(script, "t", 4)
    await create_topic(script, "u", 4)
    members = [ConsumerMember(script, name) for name in "ab"]
    for member in members:
        await member.join(("t", "u"), assignor="range")
    for _ in range(2):
        for member in members:
            await member.confirm()
    await members[0].describe_consumer()


@scenario()
async def choice_of_assignor(script: Script) -> None:
    """The assignor that most members prefer is used; members without a preference do not count."""
    await create_topic(script, partitions=4)
    a, b, c = (ConsumerMember(script, name) for name in "abc")
    await a.join(assignor="range")
    await a.describe_consumer()
    await b.join()
    await a.describe_consumer()
    await b.heartbeat(assignor="uniform")
    await c.join(assignor="uniform")
    await a.describe_consumer()


@scenario("small")
async def full(script: Script) -> None:
    """A third member is rejected where two are the limit; existing members may join again."""
    await create_topic(script, partitions=2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b", instance_id="i")
    c = ConsumerMember(script, "c")
    await a.join()
    await b.join()
    await c.join()
    await c.heartbeat(epoch=1)
    await a.join()
    await b.leave_temporarily()
    await c.join()
    await ConsumerMember(script, "d", instance_id="i").join()
    await a.leave()
    await c.join()


@scenario()
async def describing(script: Script) -> None:
    """Unknown groups, groups of the other type and groups without a name cannot be described."""
    await create_topic(script)
    admin = Client(script, "admin")
    await admin.describe_consumer()
    await ConsumerMember(script, "a", group="there").join()
    await Client(script, "reader", "offsets").commit({"t": {0: 1}})
    for version in range(2):
        await admin.describe_consumer("there", "g", "offsets", "", version=version)
    for version in (0, 5, 6):
        await admin.describe("there", version=version)
    await admin.list_groups()


@scenario()
async def removed_by_an_admin(script: Script) -> None:
    """An administrator removes members with the classic LeaveGroup, by member id or by instance id."""
    await create_topic(script, partitions=3)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b", instance_id="i")
    c, admin = ConsumerMember(script, "c"), ClassicMember(script, "admin")
    for member in (a, b, c):
        await member.join()
    for version in (2, 3, 5):
        await admin.leave(version, member_id="no-member")
    await admin.leave(member_id="a", instance_id="i")
    await admin.leave(member_id="", instance_id="j")
    await admin.leave(member_id="", instance_id="i", others=(("a", None), ("a", None), ("no-member", "i")))
    await a.heartbeat()
    await b.heartbeat()
    await c.heartbeat()
    await c.describe_consumer()
    await admin.leave(0, member_id="c")
    await c.describe_consumer()


@scenario()
async def deleting(script: Script) -> None:
    """A consumer protocol group can be deleted once its members have left."""
    await create_topic(script)
    a = ConsumerMember(script, "a")
    await a.join()
    await a.commit_as_member({"t": {0: 1}})
    await a.delete()
    await a.leave()
    await a.list_groups()
    await a.delete()
    await a.describe_consumer()
    await a.fetch(None)
    await a.join()
