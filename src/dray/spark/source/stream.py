"""Stream reader: `spark.readStream.format("dray")`, offsets in Spark's checkpoint, a plan per trigger.

Spark keeps one reader in a process of its own for the lifetime of a query and calls it at every trigger;
copies, which are never asked for offsets, are pickled to the executors. New partitions of the topic are read
from their beginning. Deleting the topic, or creating it again, fails the query.

From Spark 4.2 on, Spark can limit a trigger, and AvailableNow takes several. Before, it asked for the end and
read everything up to it, with AvailableNow too; a source that returned less would never be asked for the
rest. The module with the limits is detected, rather than the version.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType
from typing_extensions import override

from dray.scan.access import OpenCluster
from dray.scan.blocking import BlockingCluster
from dray.scan.ranges import OffsetRange
from dray.spark.errors import DataLost
from dray.spark.source.columns import arrow_schema, checked
from dray.spark.source.connection import Connection, rows_of
from dray.spark.source.offsets import StreamOffset, admitted, check_same, read_offset
from dray.spark.source.options import ReadOptions
from dray.spark.source.planner import Planner
from dray.spark.source.ranges import cutting
from dray.spark.source.tasks import TaskPartition

T = TypeVar("T")
_MODULE: Final = "pyspark.sql.streaming.datasource"


def _found() -> ModuleType | None:
    return None if find_spec(_MODULE) is None else import_module(_MODULE)


LIMITS: Final = _found()
"""Spark's module of read limits; None where triggers cannot be limited."""


def records_max(limit: object) -> int | None:
    """Return the number of records that a read limit of Spark allows; None for all."""
    found = getattr(limit, "max_rows", None)
    return found if isinstance(found, int) else None


def limit_of(limits: ModuleType, records: int | None) -> Any:  # noqa: ANN401 - a class of newer versions
    """Return Spark's read limit for a number of records."""
    return limits.ReadAllAvailable() if records is None else limits.ReadMaxRows(records)


class DrayStreamReader(DataSourceStreamReader):
    """For Spark before 4.2, where each trigger reads all records."""

    def __init__(self, options: ReadOptions, schema: StructType, connection: Connection) -> None:
        self._options = options
        self._schema = arrow_schema(checked(schema))
        self._connection = connection
        self._cluster: BlockingCluster | None = None

    @override
    def initialOffset(self) -> dict[str, Any]:
        return self._query(self._begin).as_json()

    @override
    def latestOffset(self) -> dict[str, Any]:
        return self._query(self._end).as_json()

    @override
    def partitions(self, start: Mapping[str, object], end: Mapping[str, object]) -> list[InputPartition]:
        first = read_offset(start, self._options.topic)
        last = read_offset(end, self._options.topic)
        return list(self._query(lambda planner: self._plan(planner, first, last)))

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, TaskPartition)
        return rows_of(partition.task(), self._schema, self._connection)

    @override
    def commit(self, end: Mapping[str, object]) -> None:
        """Nothing to do: reading does not remove records from the log."""

    @override
    def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def _query(self, query: Callable[[Planner], Awaitable[T]]) -> T:
        if self._cluster is None:
            self._cluster = BlockingCluster(self._connection.cluster)

        async def run(cluster: OpenCluster) -> T:
            return await query(Planner(cluster, self._options))

        return self._cluster.call(run)

    async def _begin(self, planner: Planner) -> StreamOffset:
        topic = await planner.topic()
        return StreamOffset(topic.topic_id, await planner.start(topic))

    async def _end(self, planner: Planner) -> StreamOffset:
        topic = await planner.topic()
        partitions = await planner.partitions(topic)
        return StreamOffset(topic.topic_id, {one.number: one.end_offset for one in partitions})

    async def _plan(self, planner: Planner, first: StreamOffset, last: StreamOffset) -> list[TaskPartition]:
        """Plan the records between two offsets, whichever partitions the options name now."""
        topic = await planner.topic()
        for offset in (first, last):
            check_same(offset, topic, self._options.topic)
        self._check_kept(first, last)
        partitions = await planner.partitions_of(topic, sorted(last.next_offsets))
        cut = cutting(fail_on_data_loss=self._options.fail_on_data_loss)
        wanted = [
            OffsetRange(one.number, one.stream, first.of(one.number), last.of(one.number))
            for one in partitions
        ]
        return await planner.tasks([cut(*pair) for pair in zip(wanted, partitions, strict=True)])

    def _check_kept(self, first: StreamOffset, last: StreamOffset) -> None:
        dropped = sorted(set(first.next_offsets) - set(last.next_offsets))
        if dropped and self._options.fail_on_data_loss:
            raise DataLost(
                f"partition {dropped[0]} was read by this query and is no longer among its partitions"
            )


class BoundedStreamReader(DrayStreamReader):
    """For Spark 4.2 and later, which limits each trigger."""

    def __init__(self, options: ReadOptions, schema: StructType, connection: Connection) -> None:
        super().__init__(options, schema, connection)
        self._target: StreamOffset | None = None
        """The end offset of AvailableNow."""

    @override
    def latestOffset(self, start: Mapping[str, object], limit: object) -> dict[str, Any]:  # type: ignore[override]
        first = read_offset(start, self._options.topic)
        end = self._target or self._query(self._end)
        if first.topic_id != end.topic_id:
            return end.as_json()  # planning reports the mismatch
        bounded = admitted(first.next_offsets, end.next_offsets, records_max(limit))
        return StreamOffset(end.topic_id, bounded).as_json()

    def getDefaultReadLimit(self) -> Any:  # noqa: ANN401, N802 - Spark's name, and a class of newer versions
        assert LIMITS is not None
        return limit_of(LIMITS, self._options.records_per_trigger_max)

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802 - as above
        return self._query(self._end).as_json()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - as above
        self._target = self._query(self._end)


if LIMITS is not None:
    LIMITS.SupportsTriggerAvailableNow.register(BoundedStreamReader)


def stream_reader(options: ReadOptions, schema: StructType, connection: Connection) -> DrayStreamReader:
    """Return the reader for this version of Spark."""
    kind = DrayStreamReader if LIMITS is None else BoundedStreamReader
    return kind(options, schema, connection)
