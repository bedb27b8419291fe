"""Backfill: a frame written as a topic by Spark, beside the same rows sent through a client.

The rows, 100 bytes each, lie in Parquet files before anything is measured. Spark reads them and writes them
with `format("dray")`, on all cores, until the commit is done: the second load counts, because the first
waits for Spark's workers to start. Then librdkafka sends the same rows, which are in memory already, to the
broker, in the same codec, until the last is acknowledged. Both use what the machine has: the client shares
it with the broker, Spark with its JVM. The broker counts the records of both.

Bar: five times as many rows a second.
"""

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

from benchmarks.beside_kafka.servers import prepare_dray, serving
from benchmarks.figures import Figure
from dray.cli.spark_source import DefaultSource
from dray.pipeline.spark.session import SparkHost
from dray.pipeline.spark.settings import SparkSettings, usual_cache
from dray.runtime import SystemClock

ROWS: Final = 10_000_000
PARTITIONS: Final = 8
_ROW_BYTES: Final = 100
_BAR: Final = 5.0
_WAIT_S: Final = 60.0
_SERVE_EVERY: Final = 1_000
_USUAL_JVM: Final = (
    "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=4 -XX:-UseSerialGC -XX:+UseParallelGC"
)
"""As a user's own Spark has it. Dray's starts quickly instead, and takes half as long again to read rows."""


def run(*, rows: int = ROWS, codec: str = "zstd", directory: Path | None = None) -> list[Figure]:
    with tempfile.TemporaryDirectory(dir=directory, prefix="dray-load-") as name:
        home = Path(name)
        with serving(prepare_dray(home / "dray")) as broker:
            loaded_s = _load(home, broker.bootstrap, rows, codec)
            values = pq.read_table(home / "rows", columns=["value"])["value"].to_pylist()
            produced_s = _produce(broker.bootstrap, values, codec)
    what = f"rows of {_ROW_BYTES} B, {codec}"
    return [
        Figure(f"bulk load of {rows:,} {what}", loaded_s, "s"),
        Figure(f"bulk load, {what}", rows * _ROW_BYTES / loaded_s / 1e6, "MB/s"),
        Figure(f"librdkafka to a broker, {what}", rows * _ROW_BYTES / produced_s / 1e6, "MB/s"),
        Figure(f"bulk load beside librdkafka, {what}", produced_s / loaded_s, "times", _BAR),
    ]


def _load(home: Path, bootstrap: str, rows: int, codec: str) -> float:
    """Return the seconds of the second of two loads."""
    settings = SparkSettings(master="local[*,3]", driver_memory="2g", conf=_USUAL_JVM)
    host = asyncio.run(SparkHost.start(settings, usual_cache({}), SystemClock()))
    try:
        _make_active(host.session)
        host.session.dataSource.register(DefaultSource)
        frame = host.session.range(0, rows, 1, 2 * PARTITIONS).selectExpr(
            "concat(sha2(string(id), 256), lpad(string(id), 36, '0')) AS value"
        )
        frame.write.parquet(str(home / "rows"))
        took = 0.0
        for topic in ("warm", "loaded"):
            _make_topic(bootstrap, topic)
            began = time.perf_counter()
            _write(host.session, home, topic, codec)
            took = time.perf_counter() - began
            _check(bootstrap, topic, rows)
    finally:
        asyncio.run(host.close())
    return took


def _write(session: SparkSession, home: Path, topic: str, codec: str) -> None:
    frame = session.read.parquet(str(home / "rows"))
    writing = frame.write.format("dray").option("data_dir", str(home / "dray" / "data"))
    writing.option("compression", codec).mode("append").save(topic)


def _make_active(session: SparkSession) -> None:
    """Data sources are looked for in the session of the calling thread, and this one was made in another."""
    jvm = session._jvm  # noqa: SLF001 - pyspark has no other way
    assert jvm is not None
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)  # noqa: SLF001


def _produce(bootstrap: str, values: list[str], codec: str) -> float:
    """Return the seconds until all are acknowledged; with settings that suit throughput."""
    _make_topic(bootstrap, "produced")
    settings = {
        "bootstrap.servers": bootstrap,
        "acks": "all",
        "linger.ms": 5,
        "batch.size": 1_000_000,
        "compression.type": codec,
        "delivery.report.only.error": True,
    }
    producer = Producer(settings)
    began = time.perf_counter()
    for number, value in enumerate(values):
        while not _sent(producer, value):
            producer.poll(0.01)
        if not number % _SERVE_EVERY:
            producer.poll(0)
    assert producer.flush(_WAIT_S) == 0
    took = time.perf_counter() - began
    _check(bootstrap, "produced", len(values))
    return took


def _refuse_failure(error: KafkaError | None, _: Message) -> None:
    if error is not None:
        raise KafkaException(error)


def _sent(producer: Producer, value: str) -> bool:
    try:
        producer.produce("produced", value, on_delivery=_refuse_failure)
    except BufferError:
        return False
    return True


def _make_topic(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(topic, PARTITIONS, 1)]).values():
        made.result(_WAIT_S)


def _check(bootstrap: str, topic: str, rows: int) -> None:
    """Raise unless the broker serves as many records as were written."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused"})
    places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    ends = [consumer.get_watermark_offsets(place, _WAIT_S)[1] for place in places]
    consumer.close()
    if sum(ends) != rows:
        raise AssertionError(f"{topic} has {sum(ends)} records, {rows} were written")
