"""Backfill: a DataFrame that Spark writes to a topic, read by a Java consumer and counted in the table."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyiceberg.catalog.sql import SqlCatalog

from tests.agreement.compacting import compacting
from tests.agreement.reading import spark_with_iceberg
from tests.brokers import running_brokers
from tests.oracle.jars import java
from tests.tables.duck import reading_iceberg

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS: Final = 8
TOPIC: Final = "backfilled"
TABLE: Final = f"dray.{TOPIC}"
_TASKS: Final = 16
_AT_ONCE: Final = ("--set", "groups.initial_rebalance_delay_ms=0")
"""No rebalance delay: the tool exits after some seconds without a record, which joining would use up."""
_COUNTED: Final = """
    SELECT count(*), count(DISTINCT value), sum(CAST(decode(value) AS HUGEINT)),
        count(*) FILTER (key IS DISTINCT FROM value)
    FROM iceberg_scan(?)
"""
_OFFSETS: Final = """
    SELECT count(*), count(DISTINCT "offset"), min("offset"), max("offset") + 1
    FROM iceberg_scan(?) GROUP BY partition
"""
Say = Callable[[str], None]


def agree(folder: Path, rows: int, say: Say = lambda _: None) -> None:
    """Write the rows in one job, each with a unique key and value, and verify them through all readers."""
    data = folder / "data"
    catalog = {"type": "jdbc", "uri": f"jdbc:sqlite:{data / 'tables.sqlite'}", "warehouse": str(folder)}
    with running_brokers(1, data, _AT_ONCE) as (broker,), spark_with_iceberg(folder, catalog) as session:
        _write(session, data, rows)
        say(f"Spark wrote {rows:,} rows")
        ends = _read_by_java(broker.address, rows)
        assert ends == rows, f"the Java consumer got {ends:,} records"
        say(f"a Java consumer got {ends:,} records")
        with compacting(["--data-dir", str(data)]) as running:
            output = running.communicate()[0]
        assert running.returncode == 0, output
        say("compacted")
        counted = session.table(f"dray.{TABLE}").count()
        assert counted == rows, f"the table has {counted:,} rows"
        say(f"Spark with Iceberg's runtime counts {counted:,} rows in the table")
        assert _read_by_java(broker.address, rows) == rows
        say("the Java consumer gets as many from Parquet")
    _check_rows(data, rows)
    say("DuckDB finds every row once, with its own key")


def _write(session: "SparkSession", data: Path, rows: int) -> None:
    frame = session.range(0, rows, 1, _TASKS).selectExpr("string(id) AS key", "string(id) AS value")
    writing = frame.write.format("dray").option("data_dir", str(data)).mode("append")
    writing.option("createTopic", "true").option("partitions", str(PARTITIONS)).save(TOPIC)


def _read_by_java(bootstrap: str, rows: int) -> int:
    """Have Kafka's tool request one record more than exists; it exits after some seconds without one."""
    command = java(
        "org.apache.kafka.tools.ConsumerPerformance",
        *("--bootstrap-server", bootstrap, "--topic", TOPIC, "--num-records", str(rows + 1)),
        *("--timeout", "5000", "--hide-header"),
    )
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1800).stdout
    figures = [line.split(", ") for line in output.splitlines() if line.count(",") == 9]
    assert figures, output
    return int(figures[-1][4])


def _check_rows(data: Path, rows: int) -> None:
    catalog = SqlCatalog("dray", uri=f"sqlite:///{data / 'tables.sqlite'}")
    metadata = catalog.load_table(TABLE).metadata_location
    with reading_iceberg() as duck:
        counted = duck.execute(_COUNTED, [metadata.removeprefix("file://")]).fetchone()
        partitions = duck.execute(_OFFSETS, [metadata.removeprefix("file://")]).fetchall()
    assert counted == (rows, rows, rows * (rows - 1) // 2, 0)
    assert len(partitions) == PARTITIONS
    for count, distinct, first, end in partitions:
        assert (first, distinct, end) == (0, count, count)
