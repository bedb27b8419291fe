"""What the metadata store tells of a topic: its partitions, and where their records are. No broker is asked.

Heads are read first and the index after them: what lies below a high watermark never changes but in where it
is kept, so a plan from a moment's index is as good as any other. Entries that compaction swaps between two
pages of the index only change where the next page begins.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

import msgspec

from dray.cluster.topics import Topic
from dray.ids import StreamId, meta_domain
from dray.index import IndexEntry, decode_entry, domain_name, entries_after
from dray.log.errors import RESTORE_METADATA, LogDamaged, StreamUnknown
from dray.log.states import read_head
from dray.meta.port import Domain, MetaStore
from dray.pipeline.access import OpenCluster
from dray.pipeline.reading.errors import TopicGone
from dray.pipeline.reading.stretches import Cut, Partition, Stretch, Wanted, left_of
from dray.pipeline.stored_topics import find_topic
from dray.runtime import side_by_side

_PAGE: Final = 1_000
_AT_ONCE: Final = 32
"""Partitions looked at side by side."""
_LOOKS_MAX: Final = 5


class TopicIndex:
    """Reads what there is to know of one topic in an open cluster."""

    def __init__(self, cluster: OpenCluster, name: str) -> None:
        self._meta: MetaStore = cluster.meta
        self._domains = cluster.domains
        self._name = name

    async def topic(self) -> Topic:
        """Return the topic as it is now; raises `TopicGone`."""
        topic = await find_topic(self._meta, self._name)
        if topic is None:
            raise TopicGone(f"there is no topic {self._name} in this cluster")
        return topic

    async def partitions(self, topic: Topic, numbers: Iterable[int]) -> list[Partition]:
        """Look at some of its partitions; raises `TopicGone`."""
        return await side_by_side(lambda one: self._partition(one, topic.streams[one]), numbers, _AT_ONCE)

    async def stretches(self, wanted: Sequence[Wanted], cut: Cut = left_of) -> list[Stretch]:
        """Find where the records of all ranges are; raises `TopicGone`, `LogDamaged`, and what `cut` does."""
        found = await side_by_side(partial(self._stretches, cut=cut), wanted, _AT_ONCE)
        return [stretch for stretches in found for stretch in stretches]

    async def stretches_now(self, wanted: Sequence[Wanted], cut: Cut = left_of) -> list[Stretch]:
        """As `stretches`, for ranges of which nobody knows whether the log still holds them."""
        left = [cut(one, await self._partition(one.partition, one.stream)) for one in wanted]
        return await self.stretches(left, cut)

    async def entries(self, stream: StreamId, offset: int, limit: int = _PAGE) -> list[IndexEntry]:
        """Return the entry that covers an offset, or the first one behind it, and some that follow."""
        stored = await self._meta.scan(self._domain(stream), *entries_after(stream, offset), limit=limit)
        return [decode_entry(found.key, found.value) for found in stored]

    async def _partition(self, number: int, stream: StreamId) -> Partition:
        try:
            head, _ = await read_head(self._meta, self._domain(stream), stream)
        except StreamUnknown as error:
            raise TopicGone(f"the topic {self._name} is being deleted") from error
        return Partition(number, stream, head)

    async def _stretches(self, wanted: Wanted, cut: Cut) -> list[Stretch]:
        """Walk the index; where it has a hole, the log was trimmed meanwhile, or is damaged."""
        found: list[Stretch] = []
        left = wanted
        for _ in range(_LOOKS_MAX):
            left = await self._walk(left, found)
            if left.first_offset >= left.end_offset:
                return found
            left = cut(left, await self._partition(wanted.partition, wanted.stream))
        raise LogDamaged(
            f"partition {wanted.partition} of {self._name} has no index entry for offset {left.first_offset}",
            RESTORE_METADATA,
        )

    async def _walk(self, wanted: Wanted, found: list[Stretch]) -> Wanted:
        """Add stretches up to the end or the first hole; returns what is left."""
        at, end = wanted.first_offset, wanted.end_offset
        while at < end:
            page = await self.entries(wanted.stream, at)
            for entry in page:
                if entry.start_offset > at or at >= end:
                    break
                found.append(Stretch(wanted.partition, entry, at, min(end, entry.end_offset)))
                at = entry.end_offset
            else:
                if page:
                    continue
            break
        return msgspec.structs.replace(wanted, first_offset=min(at, end))

    def _domain(self, stream: StreamId) -> Domain:
        return Domain(domain_name(meta_domain(stream, self._domains)))
