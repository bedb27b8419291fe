"""The consumer protocol (KIP-848): members come, share and go."""

from tests.groups.golden.classic import ClassicMember
from tests.groups.golden.client import Client
from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import make_topic


@scenario()
async def alone(script: Script) -> None:
    """One member gets everything, once."""
    await make_topic(script, partitions=3)
    a = ConsumerMember(script, "a")
    await a.join()
    await a.describe_consumer()
    await a.beat()
    await a.confirm()
    known = a.epoch
    await a.leave()
    await a.describe_consumer()
    await a.beat(epoch=known)


@scenario()
async def without_an_id(script: Script) -> None:
    """In version 0 a member may come without an id, and is given one."""
    await make_topic(script)
    a = ConsumerMember(script, "a", member_id="")
    await a.join(version=0)
    await a.beat(0)
    await a.describe_consumer(version=0)
    await a.leave(0)


@scenario()
async def two_members(script: Script) -> None:
    """A second member gets its share when the first has given it up: revoke, acknowledge, release."""
    await make_topic(script, partitions=4)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await a.confirm()
    await b.join()
    await a.describe_consumer()
    await b.beat()
    await a.beat()
    await a.describe_consumer()
    await b.beat()
    await a.confirm()
    await a.describe_consumer()
    await b.beat()
    await b.confirm()
    await a.beat()
    await a.describe_consumer()


@scenario()
async def three_members(script: Script) -> None:
    """Three members come one after the other, and settle."""
    await make_topic(script, partitions=6)
    members = [ConsumerMember(script, name) for name in "abc"]
    for count, newcomer in enumerate(members):
        await newcomer.join()
        for _ in range(2):
            for member in members[: count + 1]:
                await member.confirm()
    await members[0].describe_consumer()


@scenario()
async def two_come_at_once(script: Script) -> None:
    """Two members come before the first has given up anything."""
    await make_topic(script, partitions=3)
    a, b, c = (ConsumerMember(script, name) for name in "abc")
    await a.join()
    await b.join()
    await c.join()
    await a.beat()
    await a.confirm()
    await b.beat()
    await c.beat()
    await a.describe_consumer()


@scenario()
async def one_leaves(script: Script) -> None:
    """Who leaves frees its share for the others."""
    await make_topic(script, partitions=2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await b.join()
    await a.beat()
    await a.confirm()
    await b.beat()
    await b.leave()
    await a.describe_consumer()
    await a.beat()
    await a.describe_consumer()


@scenario()
async def more_members_than_partitions(script: Script) -> None:
    """Who gets nothing is a member all the same."""
    await make_topic(script)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await b.join()
    await a.beat()
    await b.beat()
    await a.describe_consumer()
    await a.leave()
    await b.beat()


@scenario()
async def no_such_topic(script: Script) -> None:
    """A topic that is not there is nobody's; the group is as stable as any."""
    a = ConsumerMember(script, "a")
    await a.join(("nowhere",))
    await a.beat()
    await a.describe_consumer()


@scenario()
async def no_topics(script: Script) -> None:
    """A member may read nothing, by an empty list or an empty pattern."""
    await make_topic(script)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join(())
    await a.beat()
    await b.join(None, regex="")
    await b.beat()
    await a.beat()
    await a.describe_consumer()


@scenario()
async def full_requests(script: Script) -> None:
    """A member that says everything again is told everything again; nothing changes by it."""
    await make_topic(script, partitions=2)
    a = ConsumerMember(script, "a")
    await a.join()
    await a.beat(topics=("t",), rebalance_ms=60_000, owned={"t": [0, 1]})
    await a.beat(topics=("t",), rebalance_ms=60_000, owned={})
    await a.beat(topics=("t",), rebalance_ms=60_000)
    await a.beat(topics=("t",), owned={})
    await a.beat(rebalance_ms=60_000, owned={})
    await a.beat(rebalance_ms=1_000)
    await a.beat(rack="somewhere")
    await a.describe_consumer()


@scenario()
async def joining_again(script: Script) -> None:
    """A member that begins again at epoch 0 keeps its place, and is told its share."""
    await make_topic(script, partitions=2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await a.join()
    await b.join()
    await a.join()
    await a.confirm()
    await b.beat()
    await b.join()
    await a.describe_consumer()


@scenario()
async def other_topics(script: Script) -> None:
    """A member subscribes to one more topic, and to one less."""
    await make_topic(script, "t", 2)
    await make_topic(script, "u", 1)
    a = ConsumerMember(script, "a")
    await a.join()
    await a.beat(topics=("t", "u"))
    await a.confirm()
    await a.beat(topics=("u",))
    await a.confirm()
    await a.beat(topics=("u", "u"))
    await a.describe_consumer()
    await a.beat(topics=())
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def different_topics(script: Script) -> None:
    """Members with different subscriptions share as evenly as those allow."""
    await make_topic(script, "t", 2)
    await make_topic(script, "u", 2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join(("t",))
    await b.join(("t", "u"))
    await a.confirm()
    await b.confirm()
    await a.describe_consumer()


@scenario()
async def by_range(script: Script) -> None:
    """The range assignor gives the same numbers of each topic to the same member."""
    await make_topic(script, "t", 4)
    await make_topic(script, "u", 4)
    members = [ConsumerMember(script, name) for name in "ab"]
    for member in members:
        await member.join(("t", "u"), assignor="range")
    for _ in range(2):
        for member in members:
            await member.confirm()
    await members[0].describe_consumer()


@scenario()
async def choice_of_assignor(script: Script) -> None:
    """The assignor that most members name is used; a member that names none has no voice."""
    await make_topic(script, partitions=4)
    a, b, c = (ConsumerMember(script, name) for name in "abc")
    await a.join(assignor="range")
    await a.describe_consumer()
    await b.join()
    await a.describe_consumer()
    await b.beat(assignor="uniform")
    await c.join(assignor="uniform")
    await a.describe_consumer()


@scenario("small")
async def full(script: Script) -> None:
    """A third member is refused where two are the most; those who are in may begin again."""
    await make_topic(script, partitions=2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b", instance_id="i")
    c = ConsumerMember(script, "c")
    await a.join()
    await b.join()
    await c.join()
    await c.beat(epoch=1)
    await a.join()
    await b.leave_for_now()
    await c.join()
    await ConsumerMember(script, "d", instance_id="i").join()
    await a.leave()
    await c.join()


@scenario()
async def describing(script: Script) -> None:
    """What is not there, or is of the other kind, cannot be described; nor can a group without a name."""
    await make_topic(script)
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
    await make_topic(script, partitions=3)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b", instance_id="i")
    c, admin = ConsumerMember(script, "c"), ClassicMember(script, "admin")
    for member in (a, b, c):
        await member.join()
    for version in (2, 3, 5):
        await admin.leave(version, member_id="nobody")
    await admin.leave(member_id="a", instance_id="i")
    await admin.leave(member_id="", instance_id="j")
    await admin.leave(member_id="", instance_id="i", others=(("a", None), ("a", None), ("nobody", "i")))
    await a.beat()
    await b.beat()
    await c.beat()
    await c.describe_consumer()
    await admin.leave(0, member_id="c")
    await c.describe_consumer()


@scenario()
async def deleting(script: Script) -> None:
    """A group of the consumer protocol can be deleted when its members have gone."""
    await make_topic(script)
    a = ConsumerMember(script, "a")
    await a.join()
    await a.commit_mine({"t": {0: 1}})
    await a.delete()
    await a.leave()
    await a.list_groups()
    await a.delete()
    await a.describe_consumer()
    await a.fetch(None)
    await a.join()
