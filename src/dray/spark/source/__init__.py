"""Spark source: a topic's Parquet files and WAL tail together, at exact offsets, without a broker.

source         the data source behind `format("dray")`, and its batch reader
stream         its stream readers: offsets and partitions on the driver, rows on the executors
connection     access to the cluster, and lazily imported modules
planner        metadata and options to tasks, over `times`, `tasks` and the pure `options`, `positions`,
               `ranges` and `offsets`
reading        tasks to rows, over the pure `columns`

`dray.scan` finds a topic's records and decodes them.
"""

from dray.spark.source.connection import Connection
from dray.spark.source.source import DraySource

__all__ = ["Connection", "DraySource"]
