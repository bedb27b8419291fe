"""Connection of a query's processes to the cluster, and lazily imported modules.

Spark discovers, creates and plans data sources in processes of their own. Only reading and writing rows needs
compiled kernels, and importing them would take most of the time of those processes, so every module that
needs them is imported here, on first use.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceWriter
from pyspark.sql.types import StructType

from dray.runtime import LazyModule
from dray.scan.access import ClusterAccess, OpenCluster, StorageAccess
from dray.scan.topic import TopicIndex
from dray.spark.source.tasks import ReadTask

if TYPE_CHECKING:
    from dray.spark import sink
    from dray.spark.source import reading, times
else:
    sink = LazyModule("dray.spark.sink")
    reading = LazyModule("dray.spark.source.reading")
    times = LazyModule("dray.spark.source.times")


@dataclass(frozen=True, slots=True)
class Connection:
    """Access to the cluster; pickled to every process of a query."""

    cluster: ClusterAccess
    storage: StorageAccess
    options: Mapping[str, str]
    """The options of the reader or the writer."""


def rows_of(task: ReadTask, schema: pa.Schema, connection: Connection) -> Iterator[pa.RecordBatch]:
    """Read a task, on an executor."""
    return reading.read_task(task, schema, connection.storage, connection.cluster)


def time_finder(cluster: OpenCluster, index: TopicIndex) -> "times.TimeFinder":
    """Return a lookup of offsets by time, which may read records."""
    return times.TimeFinder(cluster, index)


def writer(
    options: Mapping[str, str], schema: StructType, overwrite: bool, connection: Connection
) -> DataSourceWriter:
    """Open a writer, on the driver."""
    return sink.open_writer(options, schema, overwrite, connection.cluster, connection.storage)
