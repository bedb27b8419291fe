"""Fetches of a key-compacted topic by a real client: across offset gaps, from inside them, and to the end."""

import io
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from dray.cluster.topics import Topic, find_topic
from dray.compaction.deps import CompactionDeps
from dray.compaction.job_store import JobStore
from dray.compaction.key_compaction.rounds import KeyCompactionRound
from dray.compaction.publish import Publisher
from dray.compaction.rounds import TopicRound
from dray.compaction.settings import CompactionSettings
from dray.compaction.tasks import Task, TaskOutput, execute, has_output
from dray.ids import MetaDomain
from dray.log import LogSettings
from dray.log.swap import Swapper
from dray.objects.port import ByteRange
from dray.runtime import SystemClock
from dray.scan.access import OpenCluster
from dray.server.access import cluster_access
from dray.settings import load_settings
from dray.testing import broker
from dray.testing.memory_tables import MemoryCatalog, MemoryTables
from tests.compaction.key_compaction import Row, as_text

CONFIGS = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0",
    "delete.retention.ms": "0",
    "max.compaction.lag.ms": "1",
}
_WAIT_S = 30


class _Compactor:
    """Compacts a cluster's topics, also by key, in the test process."""

    def __init__(self, cluster: OpenCluster, tables: MemoryTables, root: Path) -> None:
        self._root = root
        jobs = JobStore(cluster.meta, cluster.domains)
        swappers = [self._swapper(cluster, MetaDomain(number)) for number in range(cluster.domains)]
        self.deps = CompactionDeps(
            meta=cluster.meta,
            jobs=jobs,
            objects=cluster.objects,
            tables=tables,
            publisher=Publisher(jobs, tables, cluster.objects, cluster.clock, swappers),
            run_tasks=self._run_tasks,
            clock=cluster.clock,
            entropy=cluster.entropy,
            settings=CompactionSettings(wal_age_ms_max=0),
            log_settings=LogSettings(),
        )

    def _swapper(self, cluster: OpenCluster, domain: MetaDomain) -> Swapper:
        return Swapper(cluster.meta, domain, cluster.clock, LogSettings())

    async def compact(self, topic: Topic) -> None:
        await TopicRound(self.deps, topic).run()
        for _ in range(2):  # the second round is for the tombstones
            assert (await KeyCompactionRound(self.deps, topic).run()).failures == []

    async def _run_tasks(self, tasks: Sequence[Task]) -> list[TaskOutput]:
        answers: list[TaskOutput] = []
        for task in tasks:
            output = io.BytesIO()
            answers.append(answer := execute(task, self._read, output))
            if has_output(answer):
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
        topic = await find_topic(cluster.meta, "t")
        assert topic is not None
        await _Compactor(cluster, MemoryTables(catalog), folder / "objects").compact(topic)


def _produce(bootstrap: str, words: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    for word in words.split():
        key, value = (None if letter == "-" else letter.encode() for letter in word)
        producer.produce("t", key=key, value=value, partition=0)
    assert producer.flush(_WAIT_S) == 0


def _consume(bootstrap: str, offset: int) -> tuple[str, int]:
    """Read from an offset to the end of the partition; returns the records and the client's position."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "enable.partition.eof": True})
    consumer.assign([TopicPartition("t", 0, offset)])
    found: list[Row] = []
    try:
        while True:
            message = consumer.poll(_WAIT_S)
            assert message is not None, f"no message after {as_text(found)}"
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                return as_text(found), message.offset() or 0
            found.append(Row(message.offset() or 0, message.key(), message.value()))
    finally:
        consumer.close()


@pytest.mark.slow
async def test_client_reads_across_offset_gaps(tmp_path: Path) -> None:
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
async def test_broker_drops_cached_records_that_key_compaction_removed(tmp_path: Path) -> None:
    """The old files still exist in the store: the grace period is an hour."""
    with broker(_settings(tmp_path)) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        admin.create_topics([NewTopic("t", 1, 1, config=CONFIGS)])["t"].result(_WAIT_S)
        catalog = MemoryCatalog(SystemClock())
        _produce(kafka.bootstrap, "a1 b1 a2")
        assert _consume(kafka.bootstrap, 0) == ("0a1 1b1 2a2", 3)
        await _compact(tmp_path, catalog)
        _wait_until_read(kafka.bootstrap, "1b1 2a2")
        _produce(kafka.bootstrap, "b- c1")
        await _compact(tmp_path, catalog)
        _wait_until_read(kafka.bootstrap, "2a2 4c1")


def _wait_until_read(bootstrap: str, wanted: str) -> None:
    """Read from the start until the records are as expected: brokers learn of the swap a moment later."""
    deadline = time.monotonic() + _WAIT_S
    while (found := _consume(bootstrap, 0)[0]) != wanted:
        assert time.monotonic() < deadline, f"still got {found}"
