"""Spark writes Dray: `df.write.format("dray")` as a bulk load into object storage and index.

On the driver, `writer` begins the load and ends it, `terms` asks the topic what it takes, `options` and
`columns` refuse what cannot be written before any work is done. On the executors, `task` turns Arrow into
WAL objects: `routing` says which partition each row goes to, `batches` makes record batches of them.
"""

from dray.pipeline.spark.sink.errors import CannotWrite
from dray.pipeline.spark.sink.writer import open_writer

__all__ = ["CannotWrite", "open_writer"]
