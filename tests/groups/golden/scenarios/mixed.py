"""Classic members of a group of the consumer protocol."""

from tests.groups.golden.classic import ClassicMember, form
from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.embedded import Subscription
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import make_topic


async def one_classic(script: Script, *, instance_id: str | None = None) -> ClassicMember:
    """One classic member with both partitions of t."""
    await make_topic(script, partitions=2)
    a = ClassicMember(script, "a", instance_id=instance_id)
    await form(script, a, shares={a: {"t": [0, 1]}})
    return a


async def one_of_each(script: Script) -> tuple[ClassicMember, ConsumerMember]:
    """One classic member and one of the consumer protocol, with a partition each."""
    a = await one_classic(script)
    c = ConsumerMember(script, "c")
    with script.offstage("c joins with the consumer protocol; a gives it a partition"):
        await c.join()
        await a.beat()
        await a.join(protocols={"range": Subscription(("t",), owned={"t": [0, 1]})})
        await a.sync()
        await a.join(protocols={"range": Subscription(("t",), owned={"t": [0]})})
        await a.sync()
        await c.beat()
    script.note(f"a is at generation {a.generation}, c at epoch {c.epoch}")
    return a, c


@scenario()
async def newcomer(script: Script) -> None:
    """A classic member comes into a group of the consumer protocol: it joins as others beat."""
    await make_topic(script, partitions=2)
    c = ConsumerMember(script, "c")
    await c.join()
    a = ClassicMember(script, "a")
    await a.join()
    await a.beat()
    await a.join()
    await a.sync()
    await a.beat()
    await c.beat()
    await c.confirm()
    await a.beat()
    await a.join()
    await a.sync()
    await c.describe_consumer()


@scenario()
async def newcomer_of_old(script: Script) -> None:
    """A classic member of an old version is let in without knowing its id."""
    await make_topic(script, partitions=2)
    c = ConsumerMember(script, "c")
    await c.join()
    a = ClassicMember(script, "a")
    await a.join(3)
    await a.sync(version=2)
    await a.beat(2)
    await a.leave(2)
    await c.beat()


@scenario()
async def newcomers_refused(script: Script) -> None:
    """Classic members with the wrong type, no protocols, or none that the others have."""
    a, c = await one_of_each(script)
    b = ClassicMember(script, "b")
    await b.join(protocol_type="connect")
    await b.join(protocols={})
    await b.join(protocols={"sticky": ("t",)})
    await b.join(protocols={"sticky": b"\x00", "range": ("t",)})
    await b.join(3, protocols={"range": b"\x00"})
    await b.join(member_id="nobody", protocols={"range": ("t",)})
    await c.describe_consumer()
    await a.beat()


@scenario()
async def wrong_in_every_way(script: Script) -> None:
    """What a classic member in a group of the consumer protocol may get wrong."""
    a, c = await one_of_each(script)
    await a.beat(generation=a.generation - 1)
    await a.beat(generation=a.generation + 1)
    await a.beat(member_id="nobody")
    await a.beat(instance_id="i")
    await a.beat(member_id="c")
    await a.sync(generation=a.generation - 1)
    await a.sync(protocol="sticky")
    await a.sync(protocol_type="connect")
    await a.sync(protocol=None)
    await a.sync(member_id="nobody")
    await a.sync(member_id="c")
    await a.sync()
    await a.leave(member_id="nobody")
    await a.leave(member_id="c")
    await c.beat()
    stranger = ConsumerMember(script, "stranger", member_id=a.id)
    await stranger.beat(epoch=a.generation)
    await a.beat()


@scenario()
async def offsets(script: Script) -> None:
    """Classic members of a group of the consumer protocol commit as ever."""
    a, c = await one_of_each(script)
    for version in (2, 8, 9, 10):
        await a.commit_mine({"t": {0: version}}, version)
    await a.commit_mine({"t": {0: 1}}, generation=a.generation - 1)
    await a.commit_mine({"t": {0: 1}}, generation=a.generation + 1)
    await a.commit_mine({"t": {1: 1}}, generation=a.generation - 1)
    await c.commit_mine({"t": {1: 1}})
    await c.commit_mine({"t": {1: 1}}, 8)
    await a.fetch(None, member_id=a.id, epoch=a.generation)
    await a.fetch(None, member_id=a.id, epoch=a.generation + 1)


@scenario()
async def goes_over(script: Script) -> None:
    """A classic member becomes one of the consumer protocol under its own id."""
    a, _ = await one_of_each(script)
    changed = ConsumerMember(script, "a now", member_id=a.id)
    await changed.join()
    await a.beat()
    await changed.describe_consumer()


@scenario()
async def leaves(script: Script) -> None:
    """The last classic member leaves: what remains is a plain group of the consumer protocol."""
    a, c = await one_of_each(script)
    await a.leave()
    await c.beat()
    await c.describe_consumer()
    await a.beat()


@scenario()
async def instances(script: Script) -> None:
    """A static classic member of a group of the consumer protocol is replaced by its next self."""
    await make_topic(script, partitions=2)
    c = ConsumerMember(script, "c")
    await c.join()
    a, b = (ClassicMember(script, name, instance_id="i") for name in "ab")
    await a.join()
    await a.sync()
    await b.join()
    await b.sync()
    await a.beat()
    await a.join()
    await a.leave()
    await b.leave(member_id="")
    await c.describe_consumer()


@scenario()
async def dies(script: Script) -> None:
    """A classic member of a group of the consumer protocol has the session it asked for."""
    await make_topic(script, partitions=2)
    c = ConsumerMember(script, "c")
    await c.join()
    a = ClassicMember(script, "a", session_ms=1_500)
    await a.join()
    await a.join()
    await a.sync()
    await script.wait(1)
    await a.beat()
    await script.wait(2.5)
    await a.beat()
    await c.describe_consumer()


@scenario()
async def never_syncs(script: Script) -> None:
    """A classic member of a group of the consumer protocol has its rebalance timeout to fetch its share."""
    await make_topic(script, partitions=2)
    c = ConsumerMember(script, "c")
    await c.join()
    a = ClassicMember(script, "a", rebalance_ms=1_500)
    await a.join()
    await a.join()
    await script.wait(0.75)
    await a.beat()
    await script.wait(1.75)
    await a.beat()
    await c.describe_consumer()


@scenario()
async def never_joins_again(script: Script) -> None:
    """A classic member that is told to join again has its rebalance timeout for it."""
    await make_topic(script, partitions=2)
    a = ClassicMember(script, "a", rebalance_ms=1_500)
    await form(script, a, shares={a: {"t": [0, 1]}})
    c = ConsumerMember(script, "c")
    await c.join()
    await script.wait(2.5)
    await a.beat()
    await script.wait(0.75)
    await a.beat()
    await c.beat()
    await script.wait(1.75)
    await a.beat()
    await c.beat()
    await c.describe_consumer()
