"""Embedded deployment: SQLite, a directory, Spark inside the compactor, the catalog in SQLite."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from tests.agreement.compacting import compacting
from tests.agreement.reading import by_duckdb, by_kafka, by_pyiceberg, by_spark, spark_with_iceberg
from tests.agreement.sending import Sender, differences
from tests.brokers import running_brokers

PARTITIONS: Final = 4
TOPIC: Final = "agreed"
TABLE: Final = f"dray.{TOPIC}"
Say = Callable[[str], None]


def agree(folder: Path, records: int, say: Say = lambda _: None) -> None:
    """Produce records in two halves, compact after each while a consumer reads, and compare all readers."""
    data = folder / "data"
    with running_brokers(1, data) as (broker,):
        sender = Sender(broker.address, TOPIC, PARTITIONS)
        sender.make_topic()
        for half in (records // 2, records - records // 2):
            sender.send(half)
            expected = sender.expected()
            say(f"sent {expected.num_rows:,} records")
            reads = read_during_compaction(broker.address, ["--data-dir", str(data)], expected)
            say(f"compacted while they were read {reads} times")
        expected = sender.expected()
        check("Kafka", by_kafka(broker.address, TOPIC, PARTITIONS), expected, say)
    catalog = SqlCatalog("dray", uri=f"sqlite:///{data / 'tables.sqlite'}")
    check("PyIceberg", by_pyiceberg(catalog, TABLE), expected, say)
    metadata = catalog.load_table(TABLE).metadata_location
    check("DuckDB", by_duckdb(metadata.removeprefix("file://")), expected, say)
    same = {"type": "jdbc", "uri": f"jdbc:sqlite:{data / 'tables.sqlite'}", "warehouse": str(folder)}
    with spark_with_iceberg(folder, same) as session:
        check("Spark", by_spark(session, TABLE), expected, say)


def read_during_compaction(bootstrap: str, options: Sequence[str], expected: pa.Table) -> int:
    """Read the whole topic repeatedly while it is compacted; returns the number of reads."""
    reads = 0
    with compacting(options) as running:
        while running.poll() is None:
            problems = list(differences(by_kafka(bootstrap, TOPIC, PARTITIONS), expected))
            assert not problems, f"read {reads} during compaction: {problems}"
            reads += 1
        assert running.stdout is not None
        assert running.returncode == 0, running.stdout.read()
    assert reads > 0, "compaction was over before the topic was read once"
    return reads


def check(reader: str, found: pa.Table, expected: pa.Table, say: Say) -> None:
    problems = list(differences(found, expected))
    assert not problems, f"{reader}: {problems}"
    say(f"{reader} shows the same {expected.num_rows:,} records")
