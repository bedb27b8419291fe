"""`spark.readStream.format("dray")`: offsets that Spark checkpoints, and a plan for each trigger.

Spark keeps one reader in a process of its own for a query's life and asks it at every trigger; others, which
are never asked for offsets, travel to the executors. New partitions of the topic are read from their
beginning. A topic that is deleted, or made again, ends the query.

From Spark 4.2 on a trigger may be bounded and AvailableNow goes in several of them (`limits`); before, one
trigger takes all there is, and AvailableNow is one trigger.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType
from typing_extensions import override

from dray.pipeline.access import OpenCluster
from dray.pipeline.blocking import BlockingCluster
from dray.pipeline.reading.stretches import Wanted
from dray.pipeline.spark.source.columns import arrow_schema, checked
from dray.pipeline.spark.source.connection import Connection
from dray.pipeline.spark.source.deferred import rows_of
from dray.pipeline.spark.source.errors import DataLost
from dray.pipeline.spark.source.limits import LIMITS, limit_of, records_max
from dray.pipeline.spark.source.offsets import StreamOffset, admitted, check_same, read_offset
from dray.pipeline.spark.source.options import ReadOptions
from dray.pipeline.spark.source.planner import Planner
from dray.pipeline.spark.source.ranges import cutting
from dray.pipeline.spark.source.task import TaskPartition

T = TypeVar("T")


class DrayStreamReader(DataSourceStreamReader):
    """For a Spark that takes all there is at each trigger."""

    def __init__(self, options: ReadOptions, schema: StructType, connection: Connection) -> None:
        self._options = options
        self._schema = arrow_schema(checked(schema))
        self._connection = connection
        self._cluster: BlockingCluster | None = None

    @override
    def initialOffset(self) -> dict[str, Any]:
        return self._ask(self._begin).told()

    @override
    def latestOffset(self) -> dict[str, Any]:
        return self._ask(self._end).told()

    @override
    def partitions(self, start: Mapping[str, object], end: Mapping[str, object]) -> list[InputPartition]:
        first = read_offset(start, self._options.topic)
        last = read_offset(end, self._options.topic)
        return list(self._ask(lambda planner: self._plan(planner, first, last)))

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, TaskPartition)
        return rows_of(partition.task(), self._schema, self._connection)

    @override
    def commit(self, end: Mapping[str, object]) -> None:
        """Nothing to do: the log keeps its records whoever has read them."""

    @override
    def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def _ask(self, question: Callable[[Planner], Awaitable[T]]) -> T:
        if self._cluster is None:
            self._cluster = BlockingCluster(self._connection.cluster)

        async def asked(cluster: OpenCluster) -> T:
            return await question(Planner(cluster, self._options))

        return self._cluster.ask(asked)

    async def _begin(self, planner: Planner) -> StreamOffset:
        topic = await planner.topic()
        return StreamOffset(topic.topic_id, await planner.start(topic))

    async def _end(self, planner: Planner) -> StreamOffset:
        topic = await planner.topic()
        partitions = await planner.partitions(topic)
        return StreamOffset(topic.topic_id, {one.number: one.end_offset for one in partitions})

    async def _plan(self, planner: Planner, first: StreamOffset, last: StreamOffset) -> list[TaskPartition]:
        """Plan what lies between two offsets, whichever partitions the options name by now."""
        topic = await planner.topic()
        for offset in (first, last):
            check_same(offset, topic, self._options.topic)
        self._check_kept(first, last)
        partitions = await planner.partitions_of(topic, sorted(last.next_offsets))
        cut = cutting(fail_on_data_loss=self._options.fail_on_data_loss)
        wanted = [
            Wanted(one.number, one.stream, first.of(one.number), last.of(one.number)) for one in partitions
        ]
        return await planner.tasks([cut(*pair) for pair in zip(wanted, partitions, strict=True)])

    def _check_kept(self, first: StreamOffset, last: StreamOffset) -> None:
        dropped = sorted(set(first.next_offsets) - set(last.next_offsets))
        if dropped and self._options.fail_on_data_loss:
            raise DataLost(
                f"partition {dropped[0]} was read by this query, and is not among its partitions now"
            )


class BoundedStreamReader(DrayStreamReader):
    """For a Spark that says how much it wants at each trigger."""

    def __init__(self, options: ReadOptions, schema: StructType, connection: Connection) -> None:
        super().__init__(options, schema, connection)
        self._target: StreamOffset | None = None
        """Where AvailableNow ends."""

    @override
    def latestOffset(self, start: Mapping[str, object], limit: object) -> dict[str, Any]:  # type: ignore[override]
        first = read_offset(start, self._options.topic)
        end = self._target or self._ask(self._end)
        if first.topic_id != end.topic_id:
            return end.told()  # planning says what is wrong
        bounded = admitted(first.next_offsets, end.next_offsets, records_max(limit))
        return StreamOffset(end.topic_id, bounded).told()

    def getDefaultReadLimit(self) -> Any:  # noqa: ANN401, N802 - Spark's name, and a class that only some have
        assert LIMITS is not None
        return limit_of(LIMITS, self._options.records_per_trigger_max)

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802 - as above
        return self._ask(self._end).told()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - as above
        self._target = self._ask(self._end)


if LIMITS is not None:
    LIMITS.SupportsTriggerAvailableNow.register(BoundedStreamReader)


def stream_reader(options: ReadOptions, schema: StructType, connection: Connection) -> DrayStreamReader:
    """Return the reader that this Spark can make most of."""
    kind = DrayStreamReader if LIMITS is None else BoundedStreamReader
    return kind(options, schema, connection)
