"""Planning and reading as Spark calls them, in this process."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from dray.server.access import cluster_access, storage_access
from dray.spark.source.columns import SCHEMA, arrow_schema
from dray.spark.source.connection import Connection
from dray.spark.source.options import batch_options
from dray.spark.source.planner import Planner
from dray.spark.source.reading import read_task
from dray.spark.source.tasks import TaskPartition
from tests.spark.source.clusters import DiskCluster, Row

ALL = arrow_schema(SCHEMA)


def connection(cluster: DiskCluster) -> Connection:
    return Connection(cluster_access(cluster.settings), storage_access(cluster.settings), {})


@dataclass(frozen=True, slots=True)
class Planned:
    """A read that is planned and has not started."""

    connection: Connection
    tasks: Sequence[TaskPartition]

    def reading(self, task: TaskPartition, schema: pa.Schema = ALL) -> Iterator[pa.RecordBatch]:
        return read_task(task.task(), schema, self.connection.storage, self.connection.cluster)

    def batches(self, schema: pa.Schema = ALL) -> list[pa.RecordBatch]:
        return [rows for task in self.tasks for rows in self.reading(task, schema)]

    def rows(self) -> list[Row]:
        return [row_of(row) for batch in self.batches() for row in batch.to_pylist()]

    def offsets(self) -> list[tuple[int, int]]:
        return [(row[0], row[1]) for row in self.rows()]

    def kinds(self) -> set[str]:
        """Return the types of the index entries that the tasks read."""
        return {
            type(entry_range.entry).__name__ for one in self.tasks for entry_range in one.task().entry_ranges
        }


def plan(cluster: DiskCluster, topic: str = "t", **options: str) -> Planned:
    at = connection(cluster)

    async def planned() -> list[TaskPartition]:
        async with at.cluster() as opened:
            return await Planner(opened, batch_options({"topic": topic} | options)).batch()

    return Planned(at, asyncio.run(planned()))


def row_of(row: dict[str, object]) -> Row:
    """Return the columns that tests compare; the others must be null."""
    assert {row[name] for name in ("producer_id", "producer_epoch", "base_sequence", "record_crc")} == {None}
    partition, offset, timestamp = row["partition"], row["offset"], row["timestamp"]
    headers = tuple((one["key"], one["value"]) for one in row["headers"])  # type: ignore[attr-defined]
    time_ms = round(timestamp.timestamp() * 1000)  # type: ignore[attr-defined]
    return partition, offset, time_ms, row["key"], row["value"], headers  # type: ignore[return-value]
