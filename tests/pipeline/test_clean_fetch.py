"""A real client reads a cleaned topic through a broker: over gaps, from inside them, and to the end."""

import io
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from dray.cli.access import cluster_access
from dray.cli.settings import load_settings
from dray.cluster.topics import Streams, Topic, Topics
from dray.ids import MetaDomain
from dray.index import domain_name
from dray.log import LogSettings
from dray.log.swap import Swapper
from dray.meta.port import Domain
from dray.objects.port import ByteRange
from dray.pipeline.access import OpenCluster
from dray.pipeline.clean.rounds import TopicCleaning
from dray.pipeline.job_store import JobStore
from dray.pipeline.parts import CompactionParts
from dray.pipeline.publish import Publisher
from dray.pipeline.rounds import TopicRound
from dray.pipeline.settings import CompactionSettings
from dray.pipeline.work import Answer, Task, perform
from dray.runtime import SystemClock
from dray.tables.memory import MemoryCatalog, MemoryTables
from dray.testing import broker
from tests.pipeline.cleaning import Row, told

CONFIGS = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", "delete.retention.ms": "0"}
_WAIT_S = 30


class _Compactor:
    """Compacts and cleans a cluster's topics in this process."""

    def __init__(self, cluster: OpenCluster, tables: MemoryTables, root: Path) -> None:
        self._root = root
        jobs = JobStore(cluster.meta, cluster.domains)
        swappers = [self._swapper(cluster, MetaDomain(number)) for number in range(cluster.domains)]
        self.parts = CompactionParts(
            meta=cluster.meta,
            jobs=jobs,
            objects=cluster.objects,
            tables=tables,
            publisher=Publisher(jobs, tables, cluster.objects, cluster.clock, swappers),
            perform=self._perform,
            clock=cluster.clock,
            entropy=cluster.entropy,
            settings=CompactionSettings(wal_age_ms_max=0),
            log_settings=LogSettings(),
        )

    def _swapper(self, cluster: OpenCluster, domain: MetaDomain) -> Swapper:
        return Swapper(cluster.meta, Domain(domain_name(domain)), domain, cluster.clock, LogSettings())

    async def turn(self, topic: Topic) -> None:
        await TopicRound(self.parts, topic).run()
        for _ in range(2):  # the second time for the tombstones
            assert (await TopicCleaning(self.parts, topic).run()).failures == []

    async def _perform(self, tasks: Sequence[Task]) -> list[Answer]:
        answers: list[Answer] = []
        for task in tasks:
            output = io.BytesIO()
            answers.append(perform(task, self._read, output))
            if output.getvalue():
                (self._root / task.path).parent.mkdir(parents=True, exist_ok=True)
                (self._root / task.path).write_bytes(output.getvalue())
        return answers

    def _read(self, path: str, ranges: Sequence[ByteRange]) -> list[bytes]:
        whole = (self._root / path).read_bytes()
        return [whole[at.start : at.end] for at in ranges]


def _settings(folder: Path) -> dict[str, str]:
    return {"metadata.url": f"sqlite:{folder / 'meta.sqlite'}", "storage.url": f"file:{folder / 'objects'}"}


async def _compact(folder: Path, catalog: MemoryCatalog) -> None:
    pairs = tuple(f"{key}={value}" for key, value in _settings(folder).items())
    async with cluster_access(load_settings(None, {}, {}, pairs).settings)() as cluster:
        topics = Topics(cluster.meta, Streams(_never, _never, _never), cluster.clock, cluster.entropy)
        topic = await topics.fresh("t")
        assert topic is not None
        await _Compactor(cluster, MemoryTables(catalog), folder / "objects").turn(topic)


async def _never(_: object) -> None:
    raise AssertionError


def _produce(bootstrap: str, words: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    for word in words.split():
        key, value = (None if letter == "-" else letter.encode() for letter in word)
        producer.produce("t", key=key, value=value, partition=0)
    assert producer.flush(_WAIT_S) == 0


def _consume(bootstrap: str, offset: int) -> tuple[str, int]:
    """Read from an offset to the end of the partition; returns what came, and where the client is then."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "enable.partition.eof": True})
    consumer.assign([TopicPartition("t", 0, offset)])
    found: list[Row] = []
    try:
        while True:
            message = consumer.poll(_WAIT_S)
            assert message is not None, f"nothing came behind {told(found)}"
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                return told(found), message.offset() or 0
            found.append(Row(message.offset() or 0, message.key(), message.value()))
    finally:
        consumer.close()


@pytest.mark.slow
async def test_a_client_reads_over_what_is_gone(tmp_path: Path) -> None:
    with broker(_settings(tmp_path)) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        admin.create_topics([NewTopic("t", 1, 1, config=CONFIGS)])["t"].result(_WAIT_S)
        catalog = MemoryCatalog(SystemClock())
        _produce(kafka.bootstrap, "a1 b1 a2 c1 c2")
        await _compact(tmp_path, catalog)
        _produce(kafka.bootstrap, "a- b2")
        await _compact(tmp_path, catalog)
    with broker(_settings(tmp_path)) as kafka:
        assert [_consume(kafka.bootstrap, offset) for offset in range(8)] == [
            *[("4c2 6b2", 7)] * 5,
            *[("6b2", 7)] * 2,
            ("", 7),
        ]
        _produce(kafka.bootstrap, "b- c-")
        await _compact(tmp_path, catalog)
    with broker(_settings(tmp_path)) as kafka:
        assert {_consume(kafka.bootstrap, offset) for offset in (0, 3, 8, 9)} == {("", 9)}
        _produce(kafka.bootstrap, "d1")
        assert _consume(kafka.bootstrap, 2) == ("9d1", 10)


@pytest.mark.slow
async def test_a_broker_that_has_records_at_hand_lets_go_of_those_that_are_cleaned(tmp_path: Path) -> None:
    """Nothing that it knows is gone from the store: the grace is an hour."""
    with broker(_settings(tmp_path)) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        admin.create_topics([NewTopic("t", 1, 1, config=CONFIGS)])["t"].result(_WAIT_S)
        catalog = MemoryCatalog(SystemClock())
        _produce(kafka.bootstrap, "a1 b1 a2")
        assert _consume(kafka.bootstrap, 0) == ("0a1 1b1 2a2", 3)
        await _compact(tmp_path, catalog)
        _wait_for(kafka.bootstrap, "1b1 2a2")
        _produce(kafka.bootstrap, "b- c1")
        await _compact(tmp_path, catalog)
        _wait_for(kafka.bootstrap, "2a2 4c1")


def _wait_for(bootstrap: str, wanted: str) -> None:
    """Read from the start until it is what it should be: brokers hear of it a moment later."""
    deadline = time.monotonic() + _WAIT_S
    while (found := _consume(bootstrap, 0)[0]) != wanted:
        assert time.monotonic() < deadline, f"there is still {found}"
