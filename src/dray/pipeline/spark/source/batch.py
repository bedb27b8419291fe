"""`spark.read.format("dray")`: planned once for a query, on the driver, from metadata alone."""

import asyncio
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType
from typing_extensions import override

from dray.pipeline.spark.source.columns import arrow_schema, checked
from dray.pipeline.spark.source.connection import Connection
from dray.pipeline.spark.source.deferred import rows_of
from dray.pipeline.spark.source.options import ReadOptions
from dray.pipeline.spark.source.planner import Planner
from dray.pipeline.spark.source.task import TaskPartition


class DrayReader(DataSourceReader):
    """Travels to the executors by pickle, so it holds nothing that is open."""

    def __init__(self, options: ReadOptions, schema: StructType, connection: Connection) -> None:
        self._options = options
        self._schema = arrow_schema(checked(schema))
        self._connection = connection

    @override
    def partitions(self) -> list[InputPartition]:
        return list(asyncio.run(self._plan()))

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Without partitions Spark asks once all the same, with nothing.
        if not isinstance(partition, TaskPartition):
            return iter(())
        return rows_of(partition.task(), self._schema, self._connection)

    async def _plan(self) -> list[TaskPartition]:
        async with self._connection.cluster() as cluster:
            return await Planner(cluster, self._options).batch()
