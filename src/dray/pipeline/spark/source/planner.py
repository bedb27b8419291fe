"""Planning on the driver: a topic's metadata and the options become ranges, offsets and tasks."""

import os
from collections.abc import Mapping, Sequence

from dray.cluster.topics import Topic
from dray.pipeline.access import OpenCluster
from dray.pipeline.reading.stretches import Partition, Wanted
from dray.pipeline.reading.topic import TopicIndex
from dray.pipeline.spark.source.deferred import time_finder
from dray.pipeline.spark.source.options import ReadOptions
from dray.pipeline.spark.source.plan import Portions, gathered
from dray.pipeline.spark.source.positions import Positions
from dray.pipeline.spark.source.ranges import (
    check_complete,
    chosen,
    cutting,
    placed,
    resolved,
    wanted_times,
)
from dray.pipeline.spark.source.task import ReadTask, TaskPartition


class Planner:
    """Plans reads of one topic in an open cluster. Everything raises `SourceError`, `OptionWrong`,
    and what stores raise."""

    def __init__(self, cluster: OpenCluster, options: ReadOptions) -> None:
        self._options = options
        self._index = TopicIndex(cluster, options.topic)
        self._cluster = cluster
        self._cut = cutting(fail_on_data_loss=options.fail_on_data_loss)

    async def topic(self) -> Topic:
        """Return the topic as it is now."""
        return await self._index.topic()

    async def partitions(self, topic: Topic) -> list[Partition]:
        """Return the partitions that the options name, as they are now."""
        return await self.partitions_of(topic, chosen(self._options, len(topic.streams)))

    async def partitions_of(self, topic: Topic, numbers: Sequence[int]) -> list[Partition]:
        """Return some partitions as they are now."""
        return await self._index.partitions(topic, numbers)

    async def batch(self) -> list[TaskPartition]:
        """Plan a read of everything between the positions in the options."""
        partitions = await self.partitions(await self.topic())
        numbers = tuple(partition.number for partition in partitions)
        check_complete("startingOffsets", self._options.start, numbers)
        check_complete("endingOffsets", self._options.end, numbers)
        times = await self._found_times(partitions)
        return await self.tasks([resolved(self._options, one, times) for one in partitions])

    async def start(self, topic: Topic) -> dict[int, int]:
        """Return the offset of each partition at which a new stream begins."""
        partitions = await self.partitions(topic)
        numbers = tuple(partition.number for partition in partitions)
        check_complete("startingOffsets", self._options.start, numbers)
        times = await self._found_times(partitions)
        return {one.number: self._begin(self._options.start, one, times) for one in partitions}

    async def tasks(self, wanted: Sequence[Wanted]) -> list[TaskPartition]:
        """Find the records of ranges and cut them into tasks."""
        options = self._options
        stretches = await self._index.stretches(wanted, self._cut)
        portions = Portions(options.partition_bytes_max, options.partitions_min or os.cpu_count() or 1)
        return [
            TaskPartition(ReadTask(options.topic, task, options.fail_on_data_loss))
            for task in gathered(stretches, portions)
        ]

    def _begin(self, start: Positions, partition: Partition, times: Mapping[tuple[int, int], int]) -> int:
        position = start.of(partition.number)
        assert position is not None
        first = placed(position, partition, times)
        # To begin behind the end is as wrong as to begin at what is gone.
        asked = Wanted(partition.number, partition.stream, first, max(first, partition.end_offset))
        return self._cut(asked, partition).first_offset

    async def _found_times(self, partitions: Sequence[Partition]) -> dict[tuple[int, int], int]:
        times_ms = wanted_times(self._options)
        if not times_ms:
            return {}
        finder = time_finder(self._cluster, self._index)
        return {
            (partition.number, time_ms): await finder.at_or_after(partition, time_ms)
            for time_ms in times_ms
            for partition in partitions
        }
