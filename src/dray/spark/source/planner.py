"""Planner on the driver: turns a topic's metadata and the options into ranges, offsets and tasks."""

import os
from collections.abc import Mapping, Sequence

from dray.cluster.topics import Topic
from dray.scan.access import OpenCluster
from dray.scan.ranges import OffsetRange, Partition
from dray.scan.topic import TopicIndex
from dray.spark.source.connection import time_finder
from dray.spark.source.options import ReadOptions
from dray.spark.source.positions import Positions
from dray.spark.source.ranges import check_complete, chosen, cutting, placed, resolved, wanted_times
from dray.spark.source.tasks import ReadTask, TaskPartition, TaskSizes, packed


class Planner:
    """Plans reads of one topic. All methods raise `SourceError`, `InvalidOption` and errors of the stores."""

    def __init__(self, cluster: OpenCluster, options: ReadOptions) -> None:
        self._options = options
        self._index = TopicIndex(cluster, options.topic)
        self._cluster = cluster
        self._cut = cutting(fail_on_data_loss=options.fail_on_data_loss)

    async def topic(self) -> Topic:
        """Return the topic's current state."""
        return await self._index.topic()

    async def partitions(self, topic: Topic) -> list[Partition]:
        """Return the current state of the partitions that the options name."""
        return await self.partitions_of(topic, chosen(self._options, len(topic.streams)))

    async def partitions_of(self, topic: Topic, numbers: Sequence[int]) -> list[Partition]:
        """Return the current state of some partitions."""
        return await self._index.partitions(topic, numbers)

    async def batch(self) -> list[TaskPartition]:
        """Plan a read between the positions of the options."""
        partitions = await self.partitions(await self.topic())
        numbers = tuple(partition.number for partition in partitions)
        check_complete("startingOffsets", self._options.start, numbers)
        check_complete("endingOffsets", self._options.end, numbers)
        times = await self._found_times(partitions)
        return await self.tasks([resolved(self._options, one, times) for one in partitions])

    async def start(self, topic: Topic) -> dict[int, int]:
        """Return the offsets at which a new stream starts."""
        partitions = await self.partitions(topic)
        numbers = tuple(partition.number for partition in partitions)
        check_complete("startingOffsets", self._options.start, numbers)
        times = await self._found_times(partitions)
        return {one.number: self._begin(self._options.start, one, times) for one in partitions}

    async def tasks(self, wanted: Sequence[OffsetRange]) -> list[TaskPartition]:
        """Look up the records of ranges and pack them into tasks."""
        options = self._options
        entry_ranges = await self._index.entry_ranges(wanted, self._cut)
        sizes = TaskSizes(options.partition_bytes_max, options.partitions_min or os.cpu_count() or 1)
        return [
            TaskPartition(ReadTask(options.topic, task, options.fail_on_data_loss))
            for task in packed(entry_ranges, sizes)
        ]

    def _begin(self, start: Positions, partition: Partition, times: Mapping[tuple[int, int], int]) -> int:
        position = start.of(partition.number)
        assert position is not None
        first = placed(position, partition, times)
        # A start after the end is as wrong as one before the log start offset.
        requested = OffsetRange(partition.number, partition.stream, first, max(first, partition.end_offset))
        return self._cut(requested, partition).first_offset

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
