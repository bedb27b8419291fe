"""Lag of groups: the records between committed offsets and the end of the log, until the group is deleted."""

import pytest

from dray.cluster.topics import Topic
from dray.coordinators import GroupMetrics, LagMeter
from dray.groups.commands import OffsetCommitter
from dray.groups.types import CommittedOffset, GroupError
from dray.ids import StreamId
from dray.index import StreamHead
from dray.log import LogDamaged, LogError, StoreUnavailable
from dray.observe import Metrics
from tests.api.builders import Broker, Cluster, on_broker, on_cluster
from tests.coordinators.readings import Reading, added, reading


class Meter:
    """The lag meter of one broker, with its metrics."""

    def __init__(self, broker: Broker) -> None:
        services = broker.services
        self.metrics = Metrics()
        self.errors: dict[StreamId, LogError] = {}
        self.head_seconds = 0.0
        self._services = services
        self._meter = LagMeter(
            services.groups, services.topics, self._head, GroupMetrics.on(self.metrics), services.clock
        )

    async def _head(self, stream: StreamId) -> StreamHead:
        if stream in self.errors:
            raise self.errors[stream]
        await self._services.clock.sleep(self.head_seconds)
        return await self._services.log.recent_head(stream)

    async def measured(self) -> Reading:
        await self._meter.measure()
        return reading(self.metrics, "lag_records")


async def commit(broker: Broker, group: str, topic: Topic, offsets: dict[int, int]) -> None:
    committed = {
        (topic.name, partition): CommittedOffset(offset, -1, "", 0, None, topic.topic_id)
        for partition, offset in offsets.items()
    }
    committer = OffsetCommitter("", None, -1, broker.services.me.broker_id)
    assert await broker.services.groups.commit(group, committer, committed) is GroupError.NONE


@on_broker
async def test_lag_is_the_records_after_the_committed_offset(broker: Broker) -> None:
    meter = Meter(broker)
    t, u = await broker.make_topic("t", 3), await broker.make_topic("u")
    await broker.append(t, records=10)
    await broker.append(u, records=4)
    await commit(broker, "g", t, {0: 3, 1: 0})
    await commit(broker, "g", u, {0: 1})
    await commit(broker, "h", u, {0: 2})
    assert await meter.measured() == {("g", "t"): 7, ("g", "u"): 3, ("h", "u"): 2}
    await broker.append(t, records=5)
    await commit(broker, "h", u, {0: 4})
    assert await meter.measured() == {("g", "t"): 12, ("g", "u"): 3}
    await commit(broker, "g", u, {0: 99})  # beyond the end
    assert await meter.measured() == {("g", "t"): 12}


@on_broker
async def test_series_of_deleted_topics_and_groups_are_removed(broker: Broker) -> None:
    meter = Meter(broker)
    t, u = await broker.make_topic("t"), await broker.make_topic("u")
    for topic in (t, u):
        await broker.append(topic, records=2)
        await commit(broker, "g", topic, {0: 1})
        await commit(broker, "h", topic, {0: 1})
    assert len(await meter.measured()) == 4
    await broker.services.topic_admin.delete("t", t.topic_id)
    assert set(await meter.measured()) == {("g", "u"), ("h", "u")}
    assert await broker.services.groups.delete("g") is GroupError.NONE
    await broker.services.clock.sleep(1)
    assert set(await meter.measured()) == {("h", "u")}
    assert b'"g"' not in meter.metrics.render()


@on_cluster
async def test_each_group_is_measured_by_one_broker(cluster: Cluster) -> None:
    brokers = [await cluster.broker(1), await cluster.broker(2)]
    meters = [Meter(broker) for broker in brokers]
    topic = await brokers[0].make_topic("t")
    await brokers[0].append(topic, records=5)
    await cluster.settle()
    groups = [f"g{number}" for number in range(20)]
    for group in groups:
        await commit(brokers[0], group, topic, {0: 1})
    await cluster.clock.sleep(1)
    lags = [await meter.measured() for meter in meters]
    assert all(lags)
    assert added(lags) == {(group, "t"): 4 for group in groups}


@on_cluster
async def test_groups_of_a_stopped_broker_are_measured_by_another(cluster: Cluster) -> None:
    brokers = [await cluster.broker(1), await cluster.broker(2)]
    topic = await brokers[0].make_topic("t")
    await brokers[0].append(topic, records=5)
    await cluster.settle()
    for number in range(10):
        await commit(brokers[0], f"g{number}", topic, {0: 1})
    await cluster.clock.sleep(1)
    meter = Meter(brokers[0])
    assert 0 < len(await meter.measured()) < 10
    await brokers[1].stop()
    await cluster.clock.sleep(3)
    assert len(await meter.measured()) == 10


@on_broker
async def test_reported_lag_stays_while_a_store_is_unavailable(broker: Broker) -> None:
    meter = Meter(broker)
    topic = await broker.make_topic("t")
    await broker.append(topic, records=2)
    await commit(broker, "g", topic, {0: 1})
    assert await meter.measured() == {("g", "t"): 1}
    meter.errors[topic.streams[0]] = StoreUnavailable("unavailable")
    await broker.append(topic)
    assert await meter.measured() == {("g", "t"): 1}
    meter.errors.clear()
    assert await meter.measured() == {("g", "t"): 2}


@on_broker
async def test_damaged_stream_of_one_group_does_not_hide_the_others(broker: Broker) -> None:
    meter = Meter(broker)
    topic, damaged = await broker.make_topic("t"), await broker.make_topic("damaged")
    await broker.append(topic, records=2)
    await commit(broker, "a", damaged, {0: 1})
    await commit(broker, "b", topic, {0: 1})
    meter.errors[damaged.streams[0]] = LogDamaged("not a head", "restore it")
    assert await meter.measured() == {("b", "t"): 1}


@on_broker
async def test_measuring_pauses_nine_tenths_of_the_time(broker: Broker) -> None:
    meter, clock = Meter(broker), broker.services.clock
    topic = await broker.make_topic("t")
    for number in range(5):
        await commit(broker, f"g{number}", topic, {0: 0})
    meter.head_seconds = 0.1
    began = clock.monotonic()
    await meter.measured()
    assert clock.monotonic() - began == pytest.approx(5 * 0.1 * 10, rel=0.05)
