"""Affinity: clients that follow Metadata keep brokers from conflicting; other routing is as correct."""

import asyncio
from collections.abc import Callable, Sequence
from random import Random

from dray.wire import ErrorCode as E
from dray.wire.apis.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from dray.wire.apis.produce import ProduceResponse
from tests.api.builders import Broker, Cluster, on_cluster
from tests.oracle.batches import batch
from tests.oracle.requests import Named, produce

BROKERS, PARTITIONS, ROUNDS = 3, 12, 20
CONFLICTS_MAX = 0.05


async def brokers_of(cluster: Cluster) -> tuple[list[Broker], Named]:
    brokers = [await cluster.broker(number) for number in range(1, BROKERS + 1)]
    made = await brokers[0].make_topic("t", PARTITIONS)
    await cluster.settle()
    return brokers, Named(made.name, made.topic_id)


async def leaders(brokers: Sequence[Broker], topic: Named) -> list[Broker]:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic.name)])
    answer = await brokers[0].ask(MetadataResponse, request, 12)
    return [brokers[one.leader_id - 1] for one in answer.topics[0].partitions]


async def offset_of(broker: Broker, topic: Named, partition: int) -> int:
    answer = await broker.ask(ProduceResponse, produce(topic, batch(), partition=partition))
    (stored,) = answer.responses[0].partition_responses
    assert stored.error_code == E.NONE
    return stored.base_offset


async def conflict_rate(
    cluster: Cluster, brokers: Sequence[Broker], topic: Named, route: Callable[[int], Broker]
) -> float:
    """Write to all partitions at the same time, again and again; return how many commits conflicted."""
    for number in range(ROUNDS):
        writing = [offset_of(route(partition), topic, partition) for partition in range(PARTITIONS)]
        writing += [offset_of(route(partition), topic, partition) for partition in range(PARTITIONS)]
        offsets = await asyncio.gather(*writing)
        assert sorted(offsets) == sorted([2 * number, 2 * number + 1] * PARTITIONS)
        await cluster.settle()
    commits = sum(broker.counted("dray_log_commit_seconds_count") for broker in brokers)
    conflicts = sum(broker.counted("dray_log_commit_conflicts_total") for broker in brokers)
    assert commits >= ROUNDS
    return conflicts / commits


@on_cluster
async def test_commits_of_brokers_that_lead_different_partitions_do_not_conflict(cluster: Cluster) -> None:
    brokers, topic = await brokers_of(cluster)
    led = await leaders(brokers, topic)
    assert len({id(leader) for leader in led}) == BROKERS
    assert await conflict_rate(cluster, brokers, topic, lambda partition: led[partition]) < CONFLICTS_MAX


@on_cluster
async def test_writing_anywhere_gives_conflicts_and_the_same_dense_offsets(cluster: Cluster) -> None:
    brokers, topic = await brokers_of(cluster)
    random = Random(1)
    assert await conflict_rate(cluster, brokers, topic, lambda _: random.choice(brokers)) > CONFLICTS_MAX
