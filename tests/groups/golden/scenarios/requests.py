"""Consumer protocol: requests that are invalid in themselves."""

from dray.wire.apis.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from tests.groups.golden.client import Client
from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import create_topic


@scenario()
async def without_ids(script: Script) -> None:
    """Missing ids."""
    await create_topic(script)
    nameless = ConsumerMember(script, "no-member", member_id="")
    await nameless.join()
    for version in range(2):
        for epoch in (1, -1, -2):
            await nameless.heartbeat(version, epoch=epoch)
    nameless = ConsumerMember(script, "nameless", group="")
    await nameless.join()
    await nameless.heartbeat(epoch=1)
    empty = ConsumerMember(script, "empty", instance_id="")
    await empty.join()
    await empty.leave_temporarily()
    await ConsumerMember(script, "a").join(rack="")


@scenario()
async def incomplete_joins(script: Script) -> None:
    """A join must have all its fields, and own nothing."""
    await create_topic(script)
    a = ConsumerMember(script, "a")
    for version in range(2):
        await a.heartbeat(version, epoch=0)
        await a.heartbeat(version, epoch=0, topics=("t",), owned={})
        await a.heartbeat(version, epoch=0, topics=("t",), rebalance_ms=1000)
        await a.heartbeat(version, epoch=0, topics=("t",), rebalance_ms=1000, owned={"t": [0]})
        await a.heartbeat(version, epoch=0, rebalance_ms=1000, owned={})
    await a.describe_consumer()
    await a.join()
    await a.heartbeat(epoch=0)


@scenario()
async def impossible_epochs(script: Script) -> None:
    """Negative epochs without a meaning, or not with this one."""
    await create_topic(script)
    a = ConsumerMember(script, "a")
    for epoch in (-2, -3, -(2**31)):
        await a.heartbeat(epoch=epoch)
    await a.join()
    for epoch in (-2, -3, -(2**31)):
        await a.heartbeat(epoch=epoch)
    await a.heartbeat()


@scenario()
async def unknown_assignors(script: Script) -> None:
    """Only assignors of the broker can be requested."""
    await create_topic(script)
    a = ConsumerMember(script, "a")
    await a.join(assignor="sticky")
    await a.join(assignor="")
    await a.join(assignor="Range")
    await a.describe_consumer()
    await a.join(assignor="range")
    await a.heartbeat(assignor="sticky")
    await a.heartbeat()


@scenario()
async def odd_values(script: Script) -> None:
    """Values that no client sends: negative timeouts, unknown topics, duplicates."""
    await create_topic(script, partitions=2)
    a = ConsumerMember(script, "a")
    await a.heartbeat(epoch=0, topics=("t",), rebalance_ms=-2, owned={})
    await a.heartbeat(epoch=0, topics=("t",), rebalance_ms=0, owned={})
    await a.heartbeat(epoch=0, topics=("t", "t", ""), rebalance_ms=1000, owned={})
    await a.heartbeat(owned={"nowhere": [0]})
    await a.heartbeat(owned={"t": [7, -1]})
    topic_id = script.topic_id("t")
    twice = [TopicPartitions(topic_id=topic_id, partitions=[0, 0]) for _ in range(2)]
    request = ConsumerGroupHeartbeatRequest(
        group_id=script.names.own("g"), member_id="a", member_epoch=a.epoch, topic_partitions=twice
    )
    await a.ask(request, 1)


@scenario()
async def invalid_topic_names(script: Script) -> None:
    """Invalid topic names count as topics that do not exist."""
    a = ConsumerMember(script, "a")
    await a.join(("a/b", "..", "x" * 250))
    await a.heartbeat()
    await Client(script, "admin").describe_consumer()
