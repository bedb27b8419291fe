"""The consumer protocol: requests that are wrong in themselves."""

from dray.wire.apis.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from tests.groups.golden.client import Client
from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import make_topic


@scenario()
async def without_ids(script: Script) -> None:
    """Ids that must be there and are not."""
    await make_topic(script)
    nobody = ConsumerMember(script, "nobody", member_id="")
    await nobody.join()
    for version in range(2):
        for epoch in (1, -1, -2):
            await nobody.beat(version, epoch=epoch)
    nameless = ConsumerMember(script, "nameless", group="")
    await nameless.join()
    await nameless.beat(epoch=1)
    empty = ConsumerMember(script, "empty", instance_id="")
    await empty.join()
    await empty.leave_for_now()
    await ConsumerMember(script, "a").join(rack="")


@scenario()
async def unfinished_joins(script: Script) -> None:
    """A join must say all there is to say, and own nothing."""
    await make_topic(script)
    a = ConsumerMember(script, "a")
    for version in range(2):
        await a.beat(version, epoch=0)
        await a.beat(version, epoch=0, topics=("t",), owned={})
        await a.beat(version, epoch=0, topics=("t",), rebalance_ms=1000)
        await a.beat(version, epoch=0, topics=("t",), rebalance_ms=1000, owned={"t": [0]})
        await a.beat(version, epoch=0, rebalance_ms=1000, owned={})
    await a.describe_consumer()
    await a.join()
    await a.beat(epoch=0)


@scenario()
async def impossible_epochs(script: Script) -> None:
    """Epochs below zero that mean nothing, or not this."""
    await make_topic(script)
    a = ConsumerMember(script, "a")
    for epoch in (-2, -3, -(2**31)):
        await a.beat(epoch=epoch)
    await a.join()
    for epoch in (-2, -3, -(2**31)):
        await a.beat(epoch=epoch)
    await a.beat()


@scenario()
async def unknown_assignors(script: Script) -> None:
    """Only assignors that the broker has can be asked for."""
    await make_topic(script)
    a = ConsumerMember(script, "a")
    await a.join(assignor="sticky")
    await a.join(assignor="")
    await a.join(assignor="Range")
    await a.describe_consumer()
    await a.join(assignor="range")
    await a.beat(assignor="sticky")
    await a.beat()


@scenario()
async def odd_values(script: Script) -> None:
    """Values that no client sends: timeouts below zero, partitions of no topic, twice the same."""
    await make_topic(script, partitions=2)
    a = ConsumerMember(script, "a")
    await a.beat(epoch=0, topics=("t",), rebalance_ms=-2, owned={})
    await a.beat(epoch=0, topics=("t",), rebalance_ms=0, owned={})
    await a.beat(epoch=0, topics=("t", "t", ""), rebalance_ms=1000, owned={})
    await a.beat(owned={"nowhere": [0]})
    await a.beat(owned={"t": [7, -1]})
    topic_id = script.topic_id("t")
    twice = [TopicPartitions(topic_id=topic_id, partitions=[0, 0]) for _ in range(2)]
    request = ConsumerGroupHeartbeatRequest(
        group_id=script.names.own("g"), member_id="a", member_epoch=a.epoch, topic_partitions=twice
    )
    await a.ask(request, 1)


@scenario()
async def names_of_topics(script: Script) -> None:
    """Names that no topic can have are just topics that are not there."""
    a = ConsumerMember(script, "a")
    await a.join(("a/b", "..", "x" * 250))
    await a.beat()
    await Client(script, "admin").describe_consumer()
