"""Caches of two brokers on a networked store whose watches are late: etcd, and Oxia's protocol.

However late the watch of a broker is, it returns every record that another one has acknowledged. What was
deleted meanwhile may be served from its caches until its watch reports it.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Self, cast

import pytest

from dray.ids import Domain, StreamId
from dray.log import Log, LogDeps, LogMetrics, LogSettings, OffsetOutOfRange
from dray.meta.port import ChangeBatch, MetaStore, Position, Watch
from dray.objects.memory import MemoryBucket, MemoryObjects
from dray.observe import Metrics
from dray.runtime import SystemClock, SystemEntropy, Tasks
from dray.testing.sim.batches import read_tags, tagged_batch
from dray.testing.tailing import wait_past
from tests.meta.etcd_cluster import EtcdCluster
from tests.meta.etcd_harness import EtcdHarness
from tests.meta.oxia_harness import OxiaClients, served

DOMAINS = 4
STREAMS = [StreamId(number) for number in range(1, 9)]
WAIT_S = 30.0
CLOCK = SystemClock()


class LateWatches:
    """A store whose watches report nothing while `flowing` is not set; a gap is reported as one."""

    def __init__(self, inner: MetaStore) -> None:
        self._inner = inner
        self.flowing = asyncio.Event()
        self.flowing.set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @asynccontextmanager
    async def watch(self, domain: Domain, prefix: str, after: Position | None = None) -> AsyncIterator[Watch]:
        async with self._inner.watch(domain, prefix, after) as batches:
            yield LateWatch(batches, self.flowing)


class LateWatch:
    """The batches of a watch, none of them while `flowing` is not set."""

    def __init__(self, batches: Watch, flowing: asyncio.Event) -> None:
        self._batches = batches
        self._flowing = flowing

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChangeBatch:
        batch = await anext(self._batches)
        await self._flowing.wait()
        return batch

    async def sync(self) -> bool:
        return await self._batches.sync()


class Broker:
    """The log of one broker."""

    def __init__(self, meta: MetaStore, bucket: MemoryBucket) -> None:
        self.meta = LateWatches(meta)
        self.tasks = Tasks()
        self.metrics = Metrics()
        self.log = Log(
            LogDeps(
                cast("MetaStore", self.meta),
                MemoryObjects(bucket),
                CLOCK,
                SystemEntropy(),
                self.tasks,
                LogSettings(),
                LogMetrics.on(self.metrics),
                domains=DOMAINS,
            )
        )

    async def append(self, stream: StreamId, tag: str) -> int:
        batch = tagged_batch(tag, CLOCK.now_ms())
        return (await (await self.log.append(stream, batch))).base_offset

    async def tags(self, stream: StreamId, offset: int) -> list[str]:
        found = await self.log.read(stream, offset, 1 << 20)
        return [tag for _, _, tag in read_tags(found.parts)]

    async def all_tags(self, stream: StreamId) -> list[str]:
        """Read as a consumer does: until there is nothing at the offset that comes next."""
        found: list[str] = []
        while more := await self.tags(stream, len(found)):
            found += more
        return found

    async def tail(self, stream: StreamId) -> None:
        """Read the first record until that fails."""
        while True:
            await self.tags(stream, 0)
            await asyncio.sleep(0.01)

    async def close(self) -> None:
        self.meta.flowing.set()
        await self.log.close()
        await self.tasks.stop()


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    folder: Path = tmp_path_factory.mktemp("etcd")
    with EtcdCluster(folder) as cluster:
        yield cluster


@pytest.fixture(params=[pytest.param("etcd", marks=pytest.mark.real("etcd")), "oxia"])
async def brokers(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Broker, Broker]]:
    async with AsyncExitStack() as closing:
        harness: EtcdHarness | OxiaClients
        if request.param == "etcd":
            harness = EtcdHarness(request.getfixturevalue("etcd").addresses)
            closing.push_async_callback(harness.close)
        else:
            harness = await closing.enter_async_context(served())
        bucket = MemoryBucket(CLOCK)
        made = Broker(await harness.open(), bucket), Broker(await harness.open(), bucket)
        for broker in made:
            await broker.log.start()
            closing.push_async_callback(broker.close)
        for stream in STREAMS:
            await made[0].log.create_stream(stream)
        yield made


async def test_acknowledged_record_is_read_at_once_from_a_broker_that_hears_nothing(
    brokers: tuple[Broker, Broker],
) -> None:
    writer, reader = brokers
    for stream in STREAMS:
        await writer.append(stream, "0")
        assert await reader.tags(stream, 0) == ["0"]
    reader.meta.flowing.clear()
    for number in range(1, 6):
        for stream in STREAMS:
            offset = await writer.append(stream, str(number))
            assert offset == number
            assert await reader.tags(stream, offset) == [str(number)]
            assert (await reader.log.head(stream)).high_watermark == number + 1


async def test_brokers_that_hear_nothing_of_each_other_still_append_in_one_order(
    brokers: tuple[Broker, Broker],
) -> None:
    one, two = brokers
    one.meta.flowing.clear()
    two.meta.flowing.clear()
    rounds = 5
    for number in range(rounds):
        appends = [
            broker.append(stream, f"{name}{number}")
            for stream in STREAMS
            for name, broker in (("a", one), ("b", two))
        ]
        offsets = await asyncio.gather(*appends)
        assert sorted(offsets) == sorted([2 * number, 2 * number + 1] * len(STREAMS))
    for stream in STREAMS:
        seen = await one.all_tags(stream)
        assert seen == await two.all_tags(stream)
        assert sorted(seen) == sorted(f"{name}{number}" for name in "ab" for number in range(rounds))


async def test_waiting_reader_is_woken_by_an_append_at_the_other_broker(
    brokers: tuple[Broker, Broker],
) -> None:
    writer, reader = brokers
    waiting = asyncio.create_task(wait_past(reader.log, CLOCK, STREAMS[0], 0, WAIT_S))
    for _ in range(10):  # it has asked the store by now, or will find the record there
        await asyncio.sleep(0)
    await writer.append(STREAMS[0], "x")
    began = CLOCK.monotonic()
    assert (await waiting).high_watermark == 1
    assert CLOCK.monotonic() - began < WAIT_S / 2


async def test_deleted_records_are_seen_as_deleted_once_the_watch_reports_it(
    brokers: tuple[Broker, Broker],
) -> None:
    writer, reader = brokers
    stream = STREAMS[0]
    for number in range(4):
        await writer.append(stream, str(number))
    assert await reader.tags(stream, 0) == ["0", "1", "2", "3"]
    reader.meta.flowing.clear()
    assert await writer.log.trim(stream, 2) == 2
    assert (await reader.log.head(stream)).log_start == 2, "ListOffsets asks the store"
    assert await reader.tags(stream, 2) == ["2", "3"]
    reader.meta.flowing.set()
    with pytest.raises(OffsetOutOfRange) as raised:
        await asyncio.wait_for(reader.tail(stream), WAIT_S)
    assert raised.value.log_start == 2
