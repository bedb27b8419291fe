"""Independent readers of the same topic: Kafka, PyIceberg, DuckDB, Spark.

Each returns the columns in `sending.SHOWN`, ordered. None is part of Dray, and three use no broker.
"""

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from warnings import catch_warnings, simplefilter

import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import Consumer, Message, TopicPartition
from pyiceberg.catalog import Catalog

from tests.agreement.sending import SHOWN, ordered
from tests.oracle.jars import fetched
from tests.spark_connector.session import running_spark
from tests.tables.duck import reading_iceberg

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POM: Final = Path(__file__).with_name("pom.xml")
AWS: Final = "iceberg-aws-bundle-*.jar"
_WAIT_S: Final = 60.0
_LOOK_S: Final = 0.1
_AT_ONCE: Final = 10_000
_COLUMNS: Final = 'partition, "offset", timestamp, key, value, headers'


def by_kafka(bootstrap: str, topic: str, partitions: int) -> pa.Table:
    """Read every partition from its start to its current end with librdkafka."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False})
    ends = {
        one: consumer.get_watermark_offsets(TopicPartition(topic, one), _WAIT_S)[1]
        for one in range(partitions)
    }
    open_ends = {one: end for one, end in ends.items() if end}
    consumer.assign([TopicPartition(topic, one, 0) for one in open_ends])
    rows: list[tuple[object, ...]] = []
    patience = _WAIT_S
    try:
        while open_ends:
            messages = consumer.consume(_AT_ONCE, _LOOK_S)
            patience = _WAIT_S if messages else patience - _LOOK_S
            assert patience > 0, f"nothing came for {_WAIT_S:g} s; missing: {open_ends}"
            for message in messages:
                assert message.error() is None, message.error()
                partition, offset = message.partition(), message.offset()
                assert offset is not None
                headers = [{"key": name, "value": value} for name, value in _headers(message)]
                rows.append(
                    (partition, offset, message.timestamp()[1], message.key(), message.value(), headers)
                )
                if partition in open_ends and offset >= open_ends[partition] - 1:
                    del open_ends[partition]
    finally:
        consumer.close()
    columns = list(zip(*rows, strict=True)) or [()] * len(SHOWN)
    return in_order_of_arrival(
        pa.table([pa.array(list(one), field.type) for one, field in zip(columns, SHOWN, strict=True)], SHOWN)
    )


def _headers(message: Message) -> Sequence[tuple[str, str | bytes | None]]:
    found = message.headers()
    return found if isinstance(found, list) else []


def in_order_of_arrival(table: pa.Table) -> pa.Table:
    """Sort by partition only: the records of each must already be in order."""
    taken = [
        table.filter(pc.equal(table["partition"], one)) for one in sorted(set(table["partition"].to_pylist()))
    ]
    return pa.concat_tables(taken).combine_chunks() if taken else table


def by_pyiceberg(catalog: Catalog, table: str) -> pa.Table:
    return shown(catalog.load_table(table).scan().to_arrow())


def by_duckdb(metadata: str, secrets: str = "") -> pa.Table:
    """Read the table by its metadata file."""
    with reading_iceberg() as duck:
        if secrets:
            duck.execute(secrets)
        return shown(duck.execute(f"SELECT {_COLUMNS} FROM iceberg_scan(?)", [metadata]).to_arrow_table())


@contextmanager
def spark_with_iceberg(
    folder: Path, catalog: Mapping[str, str], more_jars: Iterable[Path] = ()
) -> Iterator["SparkSession"]:
    """A Spark with Iceberg's own runtime and a catalog called `dray`."""
    jars = [*sorted(fetched("iceberg-spark", _POM).glob("*.jar")), *more_jars]
    with running_spark(jars, folder) as session:
        for name, value in {"": "org.apache.iceberg.spark.SparkCatalog", **catalog}.items():
            session.conf.set(f"spark.sql.catalog.dray{name and '.'}{name}", value)
        session.conf.set("spark.sql.session.timeZone", "UTC")
        yield session


def by_spark(session: "SparkSession", table: str) -> pa.Table:
    frame = session.table(f"dray.{table}").selectExpr(*_COLUMNS.replace('"', "`").split(", "))
    with catch_warnings():
        simplefilter("ignore", ResourceWarning)  # pyspark leaves its socket to the garbage collector
        found = frame.toArrow()
        gc.collect()
    return shown(found)


def shown(table: pa.Table) -> pa.Table:
    """Return the columns that are compared."""
    times = pc.cast(pc.cast(table["timestamp"], pa.timestamp("ms", "UTC")), pa.int64())
    return ordered(
        table.select(["partition", "offset"])
        .append_column("timestamp_ms", times)
        .append_column("key", table["key"])
        .append_column("value", table["value"])
        .append_column("headers", table["headers"])
    )
