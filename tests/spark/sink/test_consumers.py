"""Bulk loads as a running broker and librdkafka's consumer see them: all at once, at the commit."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from dray import testing
from dray.server.access import cluster_access, storage_access
from dray.settings import load_settings
from dray.spark.sink import open_writer
from dray.spark.sink.writer import BulkWriter
from tests.spark.sink.loading import arrow, schema_of

pytestmark = pytest.mark.slow

PARTITIONS = 6
ROWS = 3_000


class Served:
    """A topic of a running broker, and access to its stores without the broker."""

    def __init__(self, bootstrap: str, settings: dict[str, str]) -> None:
        self.bootstrap = bootstrap
        pairs = tuple(f"{key}={value}" for key, value in settings.items())
        loaded = load_settings(None, {}, {}, pairs).settings
        self._access, self._storage = cluster_access(loaded), storage_access(loaded)

    def begin(self) -> BulkWriter:
        schema = schema_of("value binary, key binary")
        made = open_writer({"topic": "t"}, schema, False, self._access, self._storage)  # noqa: FBT003
        assert isinstance(made, BulkWriter)
        return made


@pytest.fixture(params=[1, 4])
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Served]:
    settings = {
        "metadata.url": f"sqlite:{tmp_path / 'meta.db'}",
        "storage.url": f"file:{tmp_path / 'objects'}",
        "cluster.domains": str(request.param),
    }
    with testing.broker(settings) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        for made in admin.create_topics([NewTopic("t", PARTITIONS, 1)]).values():
            made.result()
        yield Served(broker.bootstrap, settings)


@contextmanager
def consuming(bootstrap: str) -> Iterator[Consumer]:
    """Yield a consumer that has reached the end of every partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "enable.partition.eof": True})
    consumer.assign([TopicPartition("t", partition, 0) for partition in range(PARTITIONS)])
    ended: set[int] = set()
    while len(ended) < PARTITIONS:
        message = consumer.poll(20)
        assert message is not None
        assert message.error() is not None, "there was a record before the commit"
        ended.add(message.partition() or 0)
    yield consumer
    consumer.close()


def _rows(task: int) -> list[dict[str, object]]:
    return [{"value": b"%d/%d" % (task, number), "key": b"%d" % number} for number in range(ROWS)]


def test_commit_wakes_a_waiting_consumer_with_the_whole_load(served: Served) -> None:
    writer = served.begin()
    messages = [writer.write(iter([arrow(_rows(task))])) for task in range(2)]
    with consuming(served.bootstrap) as consumer:
        writer.commit(messages)
        found: dict[int, list[tuple[int, bytes]]] = {number: [] for number in range(PARTITIONS)}
        while sum(map(len, found.values())) < 2 * ROWS:
            message = consumer.poll(20)
            assert message is not None, "a committed load did not wake the consumer"
            if message.error() is None:
                place = (message.offset() or 0, message.value() or b"")
                found[message.partition() or 0].append(place)
    for records in found.values():
        assert [offset for offset, _ in records] == list(range(len(records)))
    values = [value for records in found.values() for _, value in records]
    assert sorted(values) == sorted(b"%d/%d" % (task, n) for task in range(2) for n in range(ROWS))


def test_load_is_contiguous_in_every_partition_among_concurrent_producers(served: Served) -> None:
    """Neither side loses a record."""
    stopping = threading.Event()
    sent: list[bytes] = []

    def produce() -> None:
        producer = Producer(
            {"bootstrap.servers": served.bootstrap, "linger.ms": 0, "enable.idempotence": True}
        )
        while not stopping.is_set():
            sent.append(b"p%d" % len(sent))
            producer.produce("t", sent[-1], key=b"%d" % len(sent))
            producer.poll(0.001)
        assert producer.flush(20) == 0

    producing = threading.Thread(target=produce)
    producing.start()
    try:
        writer = served.begin()
        writer.commit([writer.write(iter([arrow(_rows(task))])) for task in range(2)])
    finally:
        stopping.set()
        producing.join()
    found = _everything(served.bootstrap)
    for records in found:
        loaded = [at for at, value in enumerate(records) if b"/" in value]
        assert loaded == list(range(loaded[0], loaded[-1] + 1))
    values = [value for records in found for value in records]
    assert len(values) == len(set(values)) == len(sent) + 2 * ROWS
    assert set(sent) <= set(values)


def _everything(bootstrap: str) -> list[list[bytes]]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "all", "enable.partition.eof": True})
    consumer.assign([TopicPartition("t", partition, 0) for partition in range(PARTITIONS)])
    found: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
    ended: set[int] = set()
    while len(ended) < PARTITIONS:
        message = consumer.poll(20)
        assert message is not None
        if message.error() is None:
            found[message.partition() or 0].append(message.value() or b"")
        else:
            ended.add(message.partition() or 0)
    consumer.close()
    return found
