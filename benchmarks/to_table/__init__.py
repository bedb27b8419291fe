"""From a topic to an Iceberg table: Dray's compactor beside Apache Kafka, Spark's Kafka source and Iceberg's
own writer, on the same records, turn by turn."""

from benchmarks.to_table.benchmark import run
from benchmarks.to_table.cases import FULL, QUICK, Scale

__all__ = ["FULL", "QUICK", "Scale", "run"]
