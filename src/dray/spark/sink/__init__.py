"""Spark sink: `df.write.format("dray")` as a bulk load into object storage and offset index.

On the driver, `writer` begins and commits the load, `write_target` reads the topic's limits, and `options`
and `columns` reject invalid writes before any task starts. On the executors, `task` turns Arrow into WAL
objects: `columns` assigns rows to partitions, `batches` encodes record batches.
"""

from dray.spark.errors import CannotWrite
from dray.spark.sink.writer import open_writer

__all__ = ["CannotWrite", "open_writer"]
