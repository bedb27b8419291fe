"""What is loaded when it is needed: who reads or writes rows needs compiled kernels, who plans does not.

Spark looks for data sources, makes them and plans with them in processes that it starts for that; loading the
kernels would take most of their time. Every module that is put off is named here, once.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceWriter
from pyspark.sql.types import StructType

from dray.pipeline.access import OpenCluster
from dray.pipeline.reading.topic import TopicIndex
from dray.pipeline.spark.source.connection import Connection
from dray.pipeline.spark.source.task import ReadTask
from dray.runtime import LazyModule

if TYPE_CHECKING:
    from dray.pipeline.spark import sink
    from dray.pipeline.spark.source import reading, times
else:
    sink = LazyModule("dray.pipeline.spark.sink")
    reading = LazyModule("dray.pipeline.spark.source.reading")
    times = LazyModule("dray.pipeline.spark.source.times")


def rows_of(task: ReadTask, schema: pa.Schema, connection: Connection) -> Iterator[pa.RecordBatch]:
    """Read a task, in the process of an executor."""
    return reading.read_task(task, schema, connection.storage, connection.cluster)


def time_finder(cluster: OpenCluster, index: TopicIndex) -> "times.TimeFinder":
    """Look for records by time, which may mean to read some."""
    return times.TimeFinder(cluster, index)


def writer(
    options: Mapping[str, str], schema: StructType, overwrite: bool, connection: Connection
) -> DataSourceWriter:
    """Begin to write."""
    return sink.open_writer(options, schema, overwrite, connection.cluster, connection.storage)
