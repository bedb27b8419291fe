"""Writes as Spark runs them, without Spark: begin, one task after another, commit."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from dray.records import Record
from dray.spark.sink import open_writer
from dray.spark.sink.writer import BulkWriter
from tests.spark.sink.folders import FolderCluster

HEADERS = ArrayType(StructType().add("key", StringType()).add("value", BinaryType()))
FULL = "value binary, key binary, headers, timestamp timestamp, partition int"
_TYPES: dict[str, DataType] = {
    "binary": BinaryType(),
    "string": StringType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "timestamp": TimestampType(),
    "date": DateType(),
    "headers": HEADERS,
}
_ARROW = {
    "value": pa.binary(),
    "key": pa.binary(),
    "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    "timestamp": pa.timestamp("us", "UTC"),
    "partition": pa.int32(),
}
Row = dict[str, object]


@dataclass
class Write:
    """One write to a topic."""

    cluster: FolderCluster
    writer: BulkWriter
    messages: list[WriterCommitMessage] = field(default_factory=list)

    @classmethod
    def to(cls, cluster: FolderCluster, topic: str, ddl: str = "value binary", **options: str) -> "Write":
        given = {"topic": topic, **options}
        made = open_writer(given, schema_of(ddl), False, cluster.access, cluster.storage)  # noqa: FBT003 - Spark's order
        assert isinstance(made, BulkWriter)
        return cls(cluster, made)

    def task(self, *batches: Sequence[Row] | pa.RecordBatch) -> None:
        """Run a task whose input is these batches."""
        made = [one if isinstance(one, pa.RecordBatch) else arrow(one) for one in batches]
        self.messages.append(self.writer.write(iter(made)))

    def commit(self) -> None:
        self.writer.commit(self.messages)


def schema_of(text: str) -> StructType:
    """Parse `name type, name type`; Spark's own parser needs a JVM."""
    schema = StructType()
    for column in text.split(", "):
        words = column.split(" ")
        schema.add(words[0], _TYPES[words[-1]])
    return schema


def arrow(rows: Sequence[Row]) -> pa.RecordBatch:
    """Return rows as Arrow, typed as Spark would; all rows have the same columns."""
    names = list(rows[0])
    columns = [pa.array([row[name] for row in rows], _ARROW[name]) for name in names]
    return pa.record_batch(columns, names=names)


def values(records: Sequence[Record]) -> list[bytes | None]:
    return [record.value for record in records]
