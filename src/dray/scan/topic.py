"""Index of a topic as read from the metadata store: its partitions and where their records are.

Heads are read before the index: records below a high watermark never change, only their location does, so a
plan is valid whenever the index is read. Entries that compaction swaps between two pages of the index only
change where the next page begins.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

import msgspec

from dray.cluster.topics import Topic, find_topic
from dray.ids import Domain, StreamId, meta_domain
from dray.index import IndexEntry, decode_entry
from dray.keyspace import entries_after, log_domain
from dray.log.errors import RESTORE_METADATA, LogDamaged, StreamUnknown
from dray.log.states import read_head
from dray.meta.port import MetaStore
from dray.runtime import gather_bounded
from dray.scan.access import OpenCluster
from dray.scan.ranges import Clip, EntryRange, OffsetRange, Partition, clip

_PAGE: Final = 1_000
_AT_ONCE: Final = 32
"""Maximum number of partitions read concurrently."""
_WALKS_MAX: Final = 5


class TopicDeleted(Exception):
    """The topic does not exist, or was deleted and perhaps recreated since reading began."""


class TopicIndex:
    """Partitions and index entries of one topic of an open cluster."""

    def __init__(self, cluster: OpenCluster, name: str) -> None:
        self._meta: MetaStore = cluster.meta
        self._domains = cluster.domains
        self._name = name

    async def topic(self) -> Topic:
        """Return the current topic; raises `TopicDeleted`."""
        topic = await find_topic(self._meta, self._name)
        if topic is None:
            raise TopicDeleted(f"there is no topic {self._name} in this cluster")
        return topic

    async def partitions(self, topic: Topic, numbers: Iterable[int]) -> list[Partition]:
        """Return some of the topic's partitions; raises `TopicDeleted`."""
        return await gather_bounded(lambda one: self._partition(one, topic.streams[one]), numbers, _AT_ONCE)

    async def entry_ranges(self, wanted: Sequence[OffsetRange], clip: Clip = clip) -> list[EntryRange]:
        """Return the entry ranges of all ranges; raises `TopicDeleted`, `LogDamaged`, errors of `clip`."""
        found = await gather_bounded(partial(self._entry_ranges, clip=clip), wanted, _AT_ONCE)
        return [entry_range for entry_ranges in found for entry_range in entry_ranges]

    async def current_entry_ranges(
        self, wanted: Sequence[OffsetRange], clip: Clip = clip
    ) -> list[EntryRange]:
        """As `entry_ranges`, for ranges that may have been trimmed since they were planned."""
        left = [clip(one, await self._partition(one.partition, one.stream)) for one in wanted]
        return await self.entry_ranges(left, clip)

    async def entries(self, stream: StreamId, offset: int, limit: int = _PAGE) -> list[IndexEntry]:
        """Return the entry that covers an offset, or the first one after it, and some that follow."""
        stored = await self._meta.scan(self._domain(stream), *entries_after(stream, offset), limit=limit)
        return [decode_entry(found.key, found.value) for found in stored]

    async def _partition(self, number: int, stream: StreamId) -> Partition:
        try:
            head, _ = await read_head(self._meta, self._domain(stream), stream)
        except StreamUnknown as error:
            raise TopicDeleted(f"the topic {self._name} is being deleted") from error
        return Partition(number, stream, head)

    async def _entry_ranges(self, wanted: OffsetRange, clip: Clip) -> list[EntryRange]:
        """Walk the index; a hole means that the log was trimmed in the meantime, or is damaged."""
        found: list[EntryRange] = []
        left = wanted
        for _ in range(_WALKS_MAX):
            left = await self._walk(left, found)
            if left.first_offset >= left.end_offset:
                return found
            left = clip(left, await self._partition(wanted.partition, wanted.stream))
        raise LogDamaged(
            f"partition {wanted.partition} of {self._name} has no index entry for offset {left.first_offset}",
            RESTORE_METADATA,
        )

    async def _walk(self, wanted: OffsetRange, found: list[EntryRange]) -> OffsetRange:
        """Add entry ranges up to the end or the first hole; returns what is left."""
        at, end = wanted.first_offset, wanted.end_offset
        while at < end:
            page = await self.entries(wanted.stream, at)
            for entry in page:
                if entry.start_offset > at or at >= end:
                    break
                found.append(EntryRange(wanted.partition, entry, at, min(end, entry.end_offset)))
                at = entry.end_offset
            else:
                if page:
                    continue
            break
        return msgspec.structs.replace(wanted, first_offset=min(at, end))

    def _domain(self, stream: StreamId) -> Domain:
        return log_domain(meta_domain(stream, self._domains))
