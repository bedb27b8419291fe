"""Job process that converts topics of Apache Kafka to tables: Spark, its Kafka source, Iceberg's own runtime.

One session for all orders. *Tuned*: the best of the settings that were tried; the report lists them. The
table is like Dray's: the same columns and partitions, zstd level 1, bounds for the same columns. *Default*:
the same columns and partitions, but default settings of source and table, except for the format version.
"""

import sys
import time
from collections.abc import Mapping
from typing import Final

from pyspark.sql import SparkSession

from benchmarks.to_table.orders import Answer, AnyOrder, Convert
from benchmarks.to_table.serving import next_order, reply, say_ready

_CATALOG: Final = "bench"
_LOOPBACK: Final = "127.0.0.1"
_COLUMNS: Final = """
    partition INT NOT NULL, offset BIGINT NOT NULL, timestamp TIMESTAMP NOT NULL, key BINARY, value BINARY,
    headers ARRAY<STRUCT<key: STRING, value: BINARY>> NOT NULL,
    producer_id BIGINT, producer_epoch INT, base_sequence INT, attributes INT NOT NULL, record_crc INT
"""
_SELECTED: Final = (
    *("partition", "offset", "timestamp", "key", "value"),
    "coalesce(headers, array()) AS headers",
    *(f"CAST(NULL AS {kind}) AS {name}" for name, kind in (("producer_id", "BIGINT"),)),
    *(f"CAST(NULL AS INT) AS {name}" for name in ("producer_epoch", "base_sequence")),
    *("0 AS attributes", "CAST(NULL AS INT) AS record_crc"),
)
_PROPERTIES: Final = {
    "write.parquet.compression-codec": "zstd",
    "write.parquet.compression-level": "1",
    "write.metadata.metrics.default": "none",
    "write.metadata.metrics.column.partition": "full",
    "write.metadata.metrics.column.offset": "full",
    "write.metadata.metrics.column.timestamp": "full",
    # A task reads one partition and writes one, so there is nothing to shuffle or sort.
    "write.distribution-mode": "none",
    "write.spark.fanout.enabled": "true",
}
_FETCHING: Final = {
    "kafka.max.partition.fetch.bytes": str(8 << 20),
    "kafka.max.poll.records": "20000",
    "kafka.receive.buffer.bytes": str(1 << 20),
}
"""Fewer, larger fetches and polls than by default: a third less broker CPU time."""


class Converter:
    """A Spark session and the broker it reads from."""

    def __init__(self, session: SparkSession, bootstrap: str) -> None:
        self._session = session
        self._bootstrap = bootstrap

    def carry_out(self, order: AnyOrder) -> Answer:
        table = f"{_CATALOG}.log.`{order.topic}`"
        if not isinstance(order, Convert):
            self._session.sql(f"DROP TABLE {table} PURGE")
            return Answer()
        began = time.perf_counter()
        self._make(table, _PROPERTIES if order.tuned else {})
        fetching = _FETCHING if order.tuned else {}
        source = self._session.read.format("kafka").options(**self._options(order.topic), **fetching).load()
        writing = source.selectExpr(*_SELECTED).writeTo(table)
        writing.option("check-nullability", "false").append()  # the source declares every column nullable
        return Answer(time.perf_counter() - began)

    def _make(self, table: str, properties: Mapping[str, str]) -> None:
        pairs = {"format-version": "2", **properties}
        listed = ", ".join(f"'{name}' = '{value}'" for name, value in pairs.items())
        partitioned = "USING iceberg PARTITIONED BY (partition)"
        self._session.sql(f"CREATE TABLE {table} ({_COLUMNS}) {partitioned} TBLPROPERTIES ({listed})")

    def _options(self, topic: str) -> Mapping[str, str]:
        return {
            "kafka.bootstrap.servers": self._bootstrap,
            "subscribe": topic,
            "startingOffsets": "earliest",
            "includeHeaders": "true",
        }


def session_of(jars: str, warehouse: str, cores: str) -> SparkSession:
    builder = SparkSession.builder.master(f"local[{cores}]")
    settings = {
        "spark.jars": jars,
        "spark.driver.host": _LOOPBACK,
        "spark.driver.bindAddress": _LOOPBACK,
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        f"spark.sql.catalog.{_CATALOG}": "org.apache.iceberg.spark.SparkCatalog",
        f"spark.sql.catalog.{_CATALOG}.type": "hadoop",
        f"spark.sql.catalog.{_CATALOG}.warehouse": warehouse,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main(bootstrap: str, jars: str, warehouse: str, cores: str) -> None:
    converter = Converter(session_of(jars, warehouse, cores), bootstrap)
    say_ready()
    while (order := next_order()) is not None:
        reply(converter.carry_out(order))


if __name__ == "__main__":
    main(*sys.argv[1:])
