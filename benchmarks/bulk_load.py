"""Bulk load of a DataFrame as a topic, compared with producing the same rows through clients.

The rows, 100 bytes of words each, are in Parquet files before the clock starts. Spark reads them and writes
them with `format("dray")` on all cores until the commit is done. In the same session, Spark's Kafka sink
sends them to the broker through the Java client with its defaults, and Spark's Python workers send them row
by row through librdkafka (`foreachPartition`), as users without the jar do. The second run of each counts,
because the first waits for workers to start and for code to be compiled. Last, librdkafka sends the same rows
from memory, without Spark. Its settings favor throughput in both cases. All use the same codec and the whole
machine, which clients share with the broker, and Spark with its JVM. The broker counts the records of each.

Bar: five times as many rows per second as through a client.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import Row, SparkSession

from benchmarks.beside_kafka.benchmark import servers_here
from benchmarks.beside_kafka.servers import KAFKA, Server, prepare_dray, serving
from benchmarks.beside_kafka.text import texts
from benchmarks.figures import Figure
from benchmarks.to_table.systems import jars
from dray.runtime import SystemClock
from dray.server.spark_source import DefaultSource
from dray.spark.session import SparkHost
from dray.spark.settings import SparkSettings, usual_cache

ROWS: Final = 10_000_000
PARTITIONS: Final = 8
_ROW_BYTES: Final = 100
_BAR: Final = 5.0
_WAIT_S: Final = 60.0
_SERVE_EVERY: Final = 1_000
_USUAL_JVM: Final = (
    "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=4 -XX:-UseSerialGC -XX:+UseParallelGC"
)
"""The defaults of a user's Spark. Dray's session favors start-up, and reads rows half as fast again."""
_WORKERS_IMPORT_THIS: Final = f"spark.executorEnv.PYTHONPATH={Path(__file__).parents[1]}"


def run(*, rows: int = ROWS, codec: str = "zstd", directory: Path | None = None) -> list[Figure]:
    what = f"rows of {_ROW_BYTES} B, {codec}"
    with tempfile.TemporaryDirectory(dir=directory, prefix="dray-load-") as name:
        home = Path(name)
        with serving(prepare_dray(home / "dray")) as broker:
            with _session() as session:
                _make_rows(home / "rows", rows)
                loaded_s = _second(
                    broker.bootstrap, "loaded", rows, lambda to: _load(session, home, to, codec)
                )
                clients = {
                    "librdkafka in Spark's workers": _second(
                        broker.bootstrap,
                        "produced-by-workers",
                        rows,
                        lambda to: _send_row_by_row(session, home, broker, to, codec),
                    )
                }
                if KAFKA in servers_here():
                    clients["Spark's sink for Kafka"] = _second(
                        broker.bootstrap, "sent", rows, lambda to: _send(session, home, broker, to, codec)
                    )
            values = pq.read_table(home / "rows", columns=["value"])["value"].to_pylist()
            clients["librdkafka"] = _produce_from_memory(broker.bootstrap, values, codec)
    return [
        Figure(f"bulk load of {rows:,} {what}", loaded_s, "s"),
        Figure(f"bulk load, {what}", rows * _ROW_BYTES / loaded_s / 1e6, "MB/s"),
        *(
            Figure(f"{client} to a broker, {what}", rows * _ROW_BYTES / took_s / 1e6, "MB/s")
            for client, took_s in clients.items()
        ),
        *(
            Figure(f"bulk load beside {client}, {what}", took_s / loaded_s, "times", _BAR)
            for client, took_s in clients.items()
        ),
    ]


@contextmanager
def _session() -> Iterator[SparkSession]:
    """Start a session with a user's defaults, and with the Kafka connector if it is available."""
    conf = f"{_USUAL_JVM}; {_WORKERS_IMPORT_THIS}"
    if KAFKA in servers_here():
        conf += f"; spark.jars={jars()}"
    settings = SparkSettings(master="local[*,3]", driver_memory="2g", conf=conf)
    host = asyncio.run(SparkHost.start(settings, usual_cache({}), SystemClock()))
    try:
        _make_active(host.session)
        host.session.dataSource.register(DefaultSource)
        yield host.session
    finally:
        asyncio.run(host.close())


def _make_rows(folder: Path, rows: int) -> None:
    """Write the words of the other benchmarks into two files per task."""
    folder.mkdir()
    values = texts(_ROW_BYTES, rows)
    files = 2 * PARTITIONS
    for number in range(files):
        some = islice(values, rows * (number + 1) // files - rows * number // files)
        pq.write_table(pa.table({"value": pa.array(some, pa.binary())}), folder / f"{number}.parquet")


def _second(bootstrap: str, topic: str, rows: int, write: Callable[[str], None]) -> float:
    """Return the seconds of the second of two runs."""
    took = 0.0
    for name in (f"{topic}-before", topic):
        _make_topic(bootstrap, name)
        began = time.perf_counter()
        write(name)
        took = time.perf_counter() - began
        _check(bootstrap, name, rows)
    return took


def _load(session: SparkSession, home: Path, topic: str, codec: str) -> None:
    frame = session.read.parquet(str(home / "rows"))
    writing = frame.write.format("dray").option("data_dir", str(home / "dray" / "data"))
    writing.option("compression", codec).mode("append").save(topic)


def _send(session: SparkSession, home: Path, broker: Server, topic: str, codec: str) -> None:
    frame = session.read.parquet(str(home / "rows"))
    writing = frame.write.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap)
    writing.option("kafka.compression.type", codec).option("topic", topic).save()


def _make_active(session: SparkSession) -> None:
    """Activate the session in this thread, where Spark looks data sources up; it was started in another."""
    jvm = session._jvm  # noqa: SLF001 - pyspark has no other way
    assert jvm is not None
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)  # noqa: SLF001


def _send_row_by_row(session: SparkSession, home: Path, broker: Server, topic: str, codec: str) -> None:
    frame = session.read.parquet(str(home / "rows"))
    frame.foreachPartition(partial(_produce_rows, broker.bootstrap, topic, codec))


def _produce_rows(bootstrap: str, topic: str, codec: str, rows: Iterable[Row]) -> None:
    _produce(bootstrap, topic, (bytes(row.value) for row in rows), codec)


def _produce_from_memory(bootstrap: str, values: list[bytes], codec: str) -> float:
    """Return the seconds until all are acknowledged."""
    _make_topic(bootstrap, "produced")
    began = time.perf_counter()
    _produce(bootstrap, "produced", values, codec)
    took = time.perf_counter() - began
    _check(bootstrap, "produced", len(values))
    return took


def _produce(bootstrap: str, topic: str, values: Iterable[bytes], codec: str) -> None:
    """Send values until all are acknowledged, with settings for throughput."""
    settings = {
        "bootstrap.servers": bootstrap,
        "acks": "all",
        "linger.ms": 5,
        "batch.size": 1_000_000,
        "compression.type": codec,
        "delivery.report.only.error": True,
    }
    producer = Producer(settings)
    for number, value in enumerate(values):
        while not _sent(producer, topic, value):
            producer.poll(0.01)
        if not number % _SERVE_EVERY:
            producer.poll(0)
    assert producer.flush(_WAIT_S) == 0


def _refuse_failure(error: KafkaError | None, _: Message) -> None:
    if error is not None:
        raise KafkaException(error)


def _sent(producer: Producer, topic: str, value: bytes) -> bool:
    try:
        producer.produce(topic, value, on_delivery=_refuse_failure)
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
