"""Data source behind `format("dray")`, and its batch reader.

Spark creates it in a Python process of its own and pickles it to the other processes of a query, so it holds
no open handles. A subclass knows how options name a cluster (`dray.server.spark_source`).

Spark discovers the source through `pyspark_dray`, in the Python that it starts as `PYSPARK_PYTHON` or
`python3`. Where that is not this Python, as when a virtual environment's interpreter runs without being
activated, `register` registers the source with this one.
"""

import asyncio
import os
import sys
from abc import abstractmethod
from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.types import StructType
from typing_extensions import override

from dray.spark.source.columns import SCHEMA, arrow_schema, checked
from dray.spark.source.connection import Connection, rows_of, writer
from dray.spark.source.options import ReadOptions, batch_options, stream_options
from dray.spark.source.planner import Planner
from dray.spark.source.stream import LIMITS, stream_reader
from dray.spark.source.tasks import TaskPartition


class DraySource(DataSource):
    """One topic of one cluster."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))
        self._connection = self.connect(options)

    @staticmethod
    @abstractmethod
    def connect(options: Mapping[str, str]) -> Connection:
        """Read the options that name the cluster; raises if they are invalid."""

    @classmethod
    @override
    def name(cls) -> str:
        return "dray"

    @classmethod
    def register(cls, spark: SparkSession) -> None:
        """Register the source in a session that did not discover it.

        Spark runs the source with `PYSPARK_PYTHON` if that is set, and else with the Python of this process,
        on executors too.
        """
        context = spark.sparkContext
        python = context.pythonExec
        # Registration takes the path of the interpreter from here; other functions keep the one they had.
        context.pythonExec = os.environ.get("PYSPARK_PYTHON") or sys.executable
        try:
            spark.dataSource.register(cls)
        finally:
            context.pythonExec = python

    @override
    def schema(self) -> StructType:
        return SCHEMA

    @override
    def reader(self, schema: StructType) -> DataSourceReader:
        return DrayReader(batch_options(self._connection.options), schema, self._connection)

    @override
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        options = stream_options(self._connection.options, limits=LIMITS is not None)
        return stream_reader(options, schema, self._connection)

    @override
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return writer(self._connection.options, schema, overwrite, self._connection)


class DrayReader(DataSourceReader):
    """Plans on the driver once per `load`, from metadata alone. Pickled to the executors, without handles."""

    def __init__(self, options: ReadOptions, schema: StructType, connection: Connection) -> None:
        self._options = options
        self._schema = arrow_schema(checked(schema))
        self._connection = connection

    @override
    def partitions(self) -> list[InputPartition]:
        return list(asyncio.run(self._plan()))

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Without partitions Spark still calls this once, with an empty partition.
        if not isinstance(partition, TaskPartition):
            return iter(())
        return rows_of(partition.task(), self._schema, self._connection)

    async def _plan(self) -> list[TaskPartition]:
        async with self._connection.cluster() as cluster:
            return await Planner(cluster, self._options).batch()
