"""The data source: what Spark makes of `format("dray")`, in a process of its own, for each query.

It is pickled to every other process of the query, so it holds nothing that is open. How the options name a
cluster is the command line's business: there is a subclass that says so (`dray.cli.spark_source`).
"""

from abc import abstractmethod
from collections.abc import Mapping

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, DataSourceWriter
from pyspark.sql.types import StructType
from typing_extensions import override

from dray.pipeline.spark.source.batch import DrayReader
from dray.pipeline.spark.source.columns import SCHEMA
from dray.pipeline.spark.source.connection import Connection
from dray.pipeline.spark.source.deferred import writer
from dray.pipeline.spark.source.limits import LIMITS
from dray.pipeline.spark.source.options import batch_options, stream_options
from dray.pipeline.spark.source.stream import stream_reader


class DraySource(DataSource):
    """One topic of one cluster."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))
        self._connection = self.connect(options)

    @staticmethod
    @abstractmethod
    def connect(options: Mapping[str, str]) -> Connection:
        """Read the options that name the cluster; raises if they make no sense."""

    @classmethod
    @override
    def name(cls) -> str:
        return "dray"

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
