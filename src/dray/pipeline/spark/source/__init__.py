"""Reading a topic with Spark: Parquet and the WAL tail together, at an exact offset, without a broker.

source        what Spark makes of `format("dray")`
batch, stream what it asks: partitions and offsets on the driver, rows in the executors
planner       metadata and options to tasks: over `times` and the pure `options`, `positions`, `ranges`,
              `plan`, `offsets`
reading       a task to rows: over the pure `columns`

What a topic holds and how its bytes become rows is in `pipeline/reading`.
"""

from dray.pipeline.spark.source.connection import Connection
from dray.pipeline.spark.source.source import DraySource

__all__ = ["Connection", "DraySource"]
