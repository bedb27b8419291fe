"""Classic members of a consumer protocol group."""

from tests.groups.golden.classic import ClassicMember, form_stable_group
from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.embedded import Subscription
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import create_topic


async def one_classic(script: Script, *, instance_id: str | None = None) -> ClassicMember:
    """One classic member with both partitions of t."""
    await create_topic(script, partitions=2)
    a = ClassicMember(script, "a", instance_id=instance_id)
    await form_stable_group(script, a, shares={a: {"t": [0, 1]}})
    return a


async def one_of_each(script: Script) -> tuple[ClassicMember, ConsumerMember]:
    """One classic and one consumer protocol member, with a partition each."""
    a = await one_classic(script)
    c = ConsumerMember(script, "c")
    with script.summarized("c joins with the consumer protocol; a gives it a partition"):
        await c.join()
        await a.heartbeat()
        await a.join(protocols={"range": Subscription(("t",), owned={"t": [0, 1]})})
        await a.sync()
        await a.join(protocols={"range": Subscription(("t",), owned={"t": [0]})})
        await a.sync()
        await c.heartbeat()
    script.note(f"a is at generation {a.generation}, c at epoch {c.epoch}")
    return a, c


@scenario()
async def new_member(script: Script) -> None:
    """A classic member joins a consumer protocol group: its joins act as heartbeats."""
    await create_topic(script, partitions=2)
    c = ConsumerMember(script, "c")
    await c.join()
    a = ClassicMember(script, "a")
    await a.join()
    await a.heartbeat()
    await a.join()
    await a.sync()
    await a.heartbeat()
    await c.heartbeat()
    await c.confirm()
    await a.heartbeat()
    await a.join()
    await a.sync()
    await c.describe_consumer()


@scenario()
async def new_member_of_an_old_version(script: Script) -> None:
    """A classic member of an old version is admitted without a known id."""
    await create_topic(script, partitions=2)
    c = ConsumerMember(script, "c")
    await c.join()
    a = ClassicMember(script, "a")
    await a.join(3)
    await a.sync(version=2)
    await a.heartbeat(2)
    await a.leave(2)
    await c.heartbeat()


@scenario()
async def new_members_rejected(script: Script) -> None:
    """Classic members with the wrong type, no protocols, or none that the others support."""
    a, c = await one_of_each(script)
    b = ClassicMember(script, "b")
    await b.join(protocol_type="connect")
    await b.join(protocols={})
    await b.join(protocols={"sticky": ("t",)})
    await b.join(protocols={"sticky": b"\x00", "range": ("t",)})
    await b.join(3, protocols={"range": b"\x00"})
    await b.join(member_id="no-member", protocols={"range": ("t",)})
    await c.describe_consumer()
    await a.heartbeat()


@scenario()
async def invalid_requests(script: Script) -> None:
    """Every possible error of a classic member in a consumer protocol group."""
    a, c = await one_of_each(script)
    await a.heartbeat(generation=a.generation - 1)
    await a.heartbeat(generation=a.generation + 1)
    await a.heartbeat(member_id="no-member")
    await a.heartbeat(instance_id="i")
    await a.heartbeat(member_id="c")
    await a.sync(generation=a.generation - 1)
    await a.sync(protocol="sticky")
    await a.sync(protocol_type="connect")
    await a.sync(protocol=None)
    await a.sync(member_id="no-member")
    await a.sync(member_id="c")
    await a.sync()
    await a.leave(member_id="no-member")
    await a.leave(member_id="c")
    await c.heartbeat()
    stranger = ConsumerMember(script, "stranger", member_id=a.id)
    await stranger.heartbeat(epoch=a.generation)
    await a.heartbeat()


@scenario()
async def offsets(script: Script) -> None:
    """Classic members of a consumer protocol group commit as usual."""
    a, c = await one_of_each(script)
    for version in (2, 8, 9, 10):
        await a.commit_as_member({"t": {0: version}}, version)
    await a.commit_as_member({"t": {0: 1}}, generation=a.generation - 1)
    await a.commit_as_member({"t": {0: 1}}, generation=a.generation + 1)
    await a.commit_as_member({"t": {1: 1}}, generation=a.generation - 1)
    await c.commit_as_member({"t": {1: 1}})
    await c.commit_as_member({"t": {1: 1}}, 8)
    await a.fetch(None, member_id=a.id, epoch=a.generation)
    await a.fetch(None, member_id=a.id, epoch=a.generation + 1)


@scenario()
async def switches_protocol(script: Script) -> None:
    """A classic member switches to the consumer protocol under its own id."""
    a, _ = await one_of_each(script)
    changed = ConsumerMember(script, "a now", member_id=a.id)
    await changed.join()
    await a.heartbeat()
    await changed.describe_consumer()


@scenario()
async def leaves(script: Script) -> None:
    """The last classic member leaves: the group has only consumer protocol members."""
    a, c = await one_of_each(script)
    await a.leave()
    await c.heartbeat()
    await c.describe_consumer()
    await a.heartbeat()


@scenario()
async def static_members(script: Script) -> None:
    """A static classic member of a consumer protocol group is replaced."""
    await create_topic(script, partitions=2)
    c = ConsumerMember(script, "c")
    await c.join()
    a, b = (ClassicMember(script, name, instance_id="i") for name in "ab")
    await a.join()
    await a.sync()
    await b.join()
    await b.sync()
    await a.heartbeat()
    await a.join()
    await a.leave()
    await b.leave(member_id="")
    await c.describe_consumer()


@scenario()
async def expires(script: Script) -> None:
    """A classic member of a consumer protocol group keeps the session timeout it requested."""
    await create_topic(script, partitions=2)
    c = ConsumerMember(script, "c")
    await c.join()
    a = ClassicMember(script, "a", session_ms=1_500)
    await a.join()
    await a.join()
    await a.sync()
    await script.wait(1)
    await a.heartbeat()
    await script.wait(2.5)
    await a.heartbeat()
    await c.describe_consumer()


@scenario()
async def never_syncs(script: Script) -> None:
    """A classic member of a consumer protocol group has its rebalance timeout to fetch its assignment."""
    await create_topic(script, partitions=2)
    c = ConsumerMember(script, "c")
    await c.join()
    a = ClassicMember(script, "a", rebalance_ms=1_500)
    await a.join()
    await a.join()
    await script.wait(0.75)
    await a.heartbeat()
    await script.wait(1.75)
    await a.heartbeat()
    await c.describe_consumer()


@scenario()
async def never_joins_again(script: Script) -> None:
    """A classic member that is asked to rejoin has its rebalance timeout to do so."""
    await create_topic(script, partitions=2)
    a = ClassicMember(script, "a", rebalance_ms=1_500)
    await form_stable_group(script, a, shares={a: {"t": [0, 1]}})
    c = ConsumerMember(script, "c")
    await c.join()
    await script.wait(2.5)
    await a.heartbeat()
    await script.wait(0.75)
    await a.heartbeat()
    await c.heartbeat()
    await script.wait(1.75)
    await a.heartbeat()
    await c.heartbeat()
    await c.describe_consumer()
