"""Topic to Iceberg table: Dray's compactor beside Apache Kafka with Spark and Iceberg's own writer.

Both convert the same records, one system after the other.
"""

from benchmarks.to_table.benchmark import run
from benchmarks.to_table.cases import FULL, QUICK, Scale

__all__ = ["FULL", "QUICK", "Scale", "run"]
