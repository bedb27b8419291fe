"""Spark's own Kafka connector, unchanged, against Dray: batch and streaming reads, and batch writes.

Only the broker is Dray's. Every test asserts the same: each record once, at its offset, with the key, value,
headers and timestamp that librdkafka wrote or, for the sink, reads.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient
from msgspec.structs import replace

from tests.clients.process import ClientProcess
from tests.clients.protocol import Record
from tests.clients.records import varied
from tests.clients.registry import CLIENTS
from tests.clients.topics import log_of, new_name, places
from tests.spark_connector.conftest import PARTITIONS, Filled
from tests.spark_connector.records import in_order, logs, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = pytest.mark.real("java", "spark")

WAIT_S = 60


class Source:
    """The source with the options that all tests use."""

    def __init__(self, spark: "SparkSession", bootstrap: str) -> None:
        self.spark = spark
        self._options = {"kafka.bootstrap.servers": bootstrap, "includeHeaders": "true"}

    def batch(self, **options: object) -> "DataFrame":
        return self.spark.read.format("kafka").options(**self._all(options)).load()

    def stream(self, **options: object) -> "DataFrame":
        return self.spark.readStream.format("kafka").options(**self._all(options)).load()

    def _all(self, options: dict[str, object]) -> dict[str, str]:
        given = {name: one if isinstance(one, str) else json.dumps(one) for name, one in options.items()}
        return self._options | given


@pytest.fixture
def source(spark: "SparkSession", bootstrap: str) -> Source:
    return Source(spark, bootstrap)


def chosen(filled: Filled, start: dict[int, int], end: dict[int, int]) -> list[Record]:
    return in_order(x for x in filled.log if start[x.partition] <= x.offset < end[x.partition])


def ends(log: Iterable[Record]) -> dict[int, int]:
    return {number: sum(record.partition == number for record in log) for number in PARTITIONS}


def test_batch_read_returns_every_record(source: Source, filled: Filled) -> None:
    """With more tasks than partitions, most start in the middle of a partition, and of a batch."""
    frame = source.batch(subscribe=filled.topic, minPartitions="11")
    assert frame.rdd.getNumPartitions() >= 11
    assert logs(frame) == {filled.topic: in_order(filled.log)}


def test_batch_read_between_offsets(source: Source, filled: Filled) -> None:
    last = ends(filled.log)
    starts = {0: 10, 1: 0, 2: last[2], 3: 333}
    stops = {0: 11, 1: last[1], 2: last[2], 3: 700}
    frame = source.batch(
        subscribe=filled.topic,
        startingOffsets={filled.topic: starts | {1: -2}},
        endingOffsets={filled.topic: stops | {1: -1, 2: -1}},
    )
    assert logs(frame) == {filled.topic: chosen(filled, starts, stops)}


def test_batch_read_between_timestamps(source: Source, filled: Filled) -> None:
    """Timestamps equal to a record's, between two records, and after the last one."""
    times = [record.timestamp or 0 for record in filled.log]
    first, middle, after = times[400], times[1600] + 500, times[-1] + 1
    frame = source.batch(
        subscribe=filled.topic,
        startingOffsetsByTimestamp={filled.topic: {0: first, 1: middle, 2: first, 3: middle}},
        endingOffsetsByTimestamp={filled.topic: {0: middle, 1: after, 2: first, 3: after}},
    )
    bounds = {0: (first, middle), 1: (middle, after), 2: (first, first), 3: (middle, after)}
    wanted = [x for x in filled.log if bounds[x.partition][0] <= (x.timestamp or 0) < bounds[x.partition][1]]
    assert logs(frame) == {filled.topic: in_order(wanted)}


def test_batch_read_of_named_partitions_and_of_a_topic_pattern(
    source: Source, filled: Filled, librdkafka: ClientProcess
) -> None:
    other, log = filled.topic + "-too", log_of(CLIENTS["librdkafka"], varied(20, (0,)))
    librdkafka.create_topic(other)
    assert librdkafka.produce(other, log) == places(log)
    assert logs(source.batch(assign={filled.topic: [1, 3]})) == {
        filled.topic: in_order(record for record in filled.log if record.partition in {1, 3})
    }
    assert logs(source.batch(subscribePattern=f"{filled.topic}.*")) == {
        filled.topic: in_order(filled.log),
        other: log,
    }


class Stream:
    """Streaming query from a topic to files; may be restarted from its checkpoint."""

    def __init__(self, source: Source, topic: str, folder: Path) -> None:
        self._source = source
        self._topic = topic
        self.group = f"stream-{topic}"
        self._out, self._checkpoint = str(folder / "out"), str(folder / "checkpoint")

    def start(self, cap: int = 100_000, **trigger: bool | str) -> "StreamingQuery":
        """Start or resume; `cap` is the maximum number of records in a micro-batch."""
        frame = self._source.stream(
            subscribe=self._topic,
            startingOffsets="earliest",
            maxOffsetsPerTrigger=str(cap),
            **{"kafka.group.id": self.group},
        )
        writer = frame.writeStream.format("parquet").option("checkpointLocation", self._checkpoint)
        return writer.trigger(**trigger).start(self._out)  # type: ignore[arg-type]  # an overload for each trigger

    def read(self) -> list[Record]:
        """Return all records written so far, duplicates included."""
        found = logs(self._source.spark.read.parquet(self._out))
        assert found.keys() <= {self._topic}
        return list(found.get(self._topic, []))


def run_to_the_end(query: "StreamingQuery") -> list[int]:
    """Return the number of rows of each micro-batch of a query that ends by itself."""
    assert query.awaitTermination(WAIT_S)
    return [rows for progress in query.recentProgress if (rows := progress["numInputRows"])]


def test_available_now_reads_everything_and_resumes_from_its_checkpoint(
    source: Source, librdkafka: ClientProcess, tmp_path: Path
) -> None:
    topic, log = new_name(), log_of(CLIENTS["librdkafka"], varied(1_000, PARTITIONS))
    librdkafka.create_topic(topic, len(PARTITIONS))
    stream = Stream(source, topic, tmp_path)
    librdkafka.produce(topic, log[:700], "lz4")
    batches = run_to_the_end(stream.start(cap=400, availableNow=True))
    assert sum(batches) == 700
    assert len(batches) > 1
    assert stream.read() == in_order(log[:700])
    librdkafka.produce(topic, log[700:], "zstd")
    assert sum(run_to_the_end(stream.start(availableNow=True))) == 300
    assert stream.read() == in_order(log)
    assert run_to_the_end(stream.start(availableNow=True)) == []
    assert stream.read() == in_order(log)


@pytest.fixture
def by_consumer(spark: "SparkSession") -> Iterator[None]:
    """Use Spark's deprecated lookup of offsets, for which its driver joins the group."""
    name = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
    spark.conf.set(name, "true")
    yield
    spark.conf.unset(name)


def members(bootstrap: str, group: str) -> list[set[int]]:
    """Return the partitions of each member of the group."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    described = admin.describe_consumer_groups([group])[group].result(WAIT_S)
    return [{one.partition for one in member.assignment.topic_partitions} for member in described.members]


def test_running_stream_is_a_group_member_and_reads_new_records(
    source: Source, by_consumer: None, librdkafka: ClientProcess, bootstrap: str, tmp_path: Path
) -> None:
    topic, log = new_name(), log_of(CLIENTS["librdkafka"], varied(600, PARTITIONS))
    librdkafka.create_topic(topic, len(PARTITIONS))
    stream = Stream(source, topic, tmp_path)
    query = stream.start(processingTime="0 seconds")
    try:
        for upto in (200, 400):
            librdkafka.produce(topic, log[upto - 200 : upto])
            query.processAllAvailable()
            assert stream.read() == in_order(log[:upto])
        assert members(bootstrap, stream.group) == [set(PARTITIONS)]
    finally:
        query.stop()
    librdkafka.produce(topic, log[400:])
    assert sum(run_to_the_end(stream.start(availableNow=True))) == 200
    assert stream.read() == in_order(log)


def test_records_of_the_sink_are_read_by_another_client(
    spark: "SparkSession", bootstrap: str, librdkafka: ClientProcess
) -> None:
    topic, written = new_name(), varied(1_000, PARTITIONS)
    librdkafka.create_topic(topic, len(PARTITIONS))
    options = {"kafka.bootstrap.servers": bootstrap, "kafka.compression.type": "zstd"}
    frame = rows(spark, topic, written).coalesce(1)  # one writer, so that the order is known
    frame.write.format("kafka").options(**options).save()
    log = log_of(CLIENTS["librdkafka"], written)
    assert librdkafka.describe_topic(topic) == [(0, end) for end in ends(log).values()]
    read = librdkafka.consume(topic, len(log), PARTITIONS)
    assert in_order(untimed(read)) == in_order(untimed(log))


def untimed(records: Iterable[Record]) -> list[Record]:
    """Drop the timestamps, which the sink sets itself."""
    return [replace(record, timestamp=None) for record in records]
