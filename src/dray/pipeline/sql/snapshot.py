"""Which rows a query sees, and where they are.

The heads of all partitions are read first: they fix the offsets. Where the rows below them lie is looked up
after that, and again when it has changed: compaction moves rows from object to object, but below a high
watermark none comes and none changes. Only the start of the log may move on; what is gone then is gone.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from typing import Final, NamedTuple, TypeVar

from dray.cluster.topics import Topic
from dray.ids import StreamId, meta_domain
from dray.index import IndexEntry, decode_entry, domain_name, entries_after
from dray.log.errors import RESTORE_METADATA, LogDamaged, StreamUnknown
from dray.log.states import read_head
from dray.meta.port import Domain
from dray.pipeline.spark.access import OpenCluster
from dray.pipeline.sql.errors import SqlError
from dray.pipeline.stored_topics import find_topic

T = TypeVar("T")

_PAGE: Final = 1_000
_AT_ONCE: Final = 32


class Bounds(NamedTuple):
    """The offsets of one partition that a query sees."""

    topic: str
    partition: int
    stream: StreamId
    first_offset: int
    end_offset: int


class Stretch(NamedTuple):
    """What is wanted of one index entry."""

    partition: int
    entry: IndexEntry
    first_offset: int
    end_offset: int

    @property
    def is_whole(self) -> bool:
        entry = self.entry
        return self.first_offset <= entry.start_offset and self.end_offset >= entry.end_offset


async def bounds_of(cluster: OpenCluster, topics: Iterable[str]) -> list[Bounds]:
    """Fix the offsets of all partitions of these topics, as they are now."""
    found = [await _topic(cluster, name) for name in topics]
    return await _side_by_side(
        [_bounds(cluster, topic, partition) for topic in found for partition in range(len(topic.streams))]
    )


async def stretches_of(cluster: OpenCluster, bounds: Sequence[Bounds]) -> list[list[Stretch]]:
    """Find where the rows are, for each of the bounds; raises `LogDamaged` if the index does not say."""
    return await _side_by_side([_stretches(cluster, one) for one in bounds])


async def _topic(cluster: OpenCluster, name: str) -> Topic:
    topic = await find_topic(cluster.meta, name)
    if topic is None:
        raise SqlError(f"the topic {name} has just been deleted")
    return topic


async def _bounds(cluster: OpenCluster, topic: Topic, partition: int) -> Bounds:
    stream = topic.streams[partition]
    first, end = await _head(cluster, topic.name, stream)
    return Bounds(topic.name, partition, stream, first, end)


async def _head(cluster: OpenCluster, topic: str, stream: StreamId) -> tuple[int, int]:
    try:
        head, _ = await read_head(cluster.meta, _domain(cluster, stream), stream)
    except StreamUnknown as error:
        raise SqlError(f"the topic {topic} is being deleted") from error
    return head.log_start, head.high_watermark


async def _stretches(cluster: OpenCluster, bounds: Bounds) -> list[Stretch]:
    found: list[Stretch] = []
    at, end = bounds.first_offset, bounds.end_offset
    while at < end:
        before = at
        for entry in await _entries(cluster, bounds.stream, at):
            if entry.start_offset > at or at >= end:
                break
            found.append(Stretch(bounds.partition, entry, at, min(end, entry.end_offset)))
            at = entry.end_offset
        if at == before:
            at = await _behind_hole(cluster, bounds, at)
    return found


async def _behind_hole(cluster: OpenCluster, bounds: Bounds, at: int) -> int:
    """Go on where the log starts now; a hole behind its start is damage."""
    start, _ = await _head(cluster, bounds.topic, bounds.stream)
    if start <= at:
        where = f"partition {bounds.partition} of {bounds.topic}"
        raise LogDamaged(f"{where} has no index entry for its offset {at}", RESTORE_METADATA)
    return start


async def _entries(cluster: OpenCluster, stream: StreamId, offset: int) -> list[IndexEntry]:
    bounds = entries_after(stream, offset)
    stored = await cluster.meta.scan(_domain(cluster, stream), *bounds, limit=_PAGE)
    return [decode_entry(found.key, found.value) for found in stored]


def _domain(cluster: OpenCluster, stream: StreamId) -> Domain:
    return Domain(domain_name(meta_domain(stream, cluster.domains)))


async def _side_by_side(questions: Sequence[Awaitable[T]]) -> list[T]:
    """Ask some at a time, and return the answers in order."""
    limit = asyncio.Semaphore(_AT_ONCE)

    async def asked(question: Awaitable[T]) -> T:
        async with limit:
            return await question

    return await asyncio.gather(*map(asked, questions))
