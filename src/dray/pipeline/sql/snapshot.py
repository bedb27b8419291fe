"""Which rows a query sees, and where they are.

The heads of all partitions are read first: they fix the offsets. Where the rows below them lie is looked up
after that, and again when it has changed: compaction moves rows from object to object, but below a high
watermark none comes and none changes. Only the start of the log may move on; what is gone then is gone.
"""

from collections.abc import Iterable, Mapping

from dray.pipeline.access import OpenCluster
from dray.pipeline.reading.errors import TopicGone
from dray.pipeline.reading.stretches import Stretch, Wanted
from dray.pipeline.reading.topic import TopicIndex
from dray.pipeline.sql.errors import SqlError

Bounds = Mapping[str, list[Wanted]]
"""The offsets that a query sees, of each topic that it names."""


async def bounds_of(cluster: OpenCluster, topics: Iterable[str]) -> Bounds:
    """Fix the offsets of all partitions of these topics, as they are now."""
    return {name: await _bounds(TopicIndex(cluster, name)) for name in topics}


async def stretches_of(cluster: OpenCluster, bounds: Bounds) -> dict[str, list[Stretch]]:
    """Find where the rows are; raises `LogDamaged` if the index does not say."""
    try:
        return {name: await TopicIndex(cluster, name).stretches(wanted) for name, wanted in bounds.items()}
    except TopicGone as error:
        raise SqlError(str(error)) from error


async def _bounds(index: TopicIndex) -> list[Wanted]:
    try:
        topic = await index.topic()
        partitions = await index.partitions(topic, range(len(topic.streams)))
    except TopicGone as error:
        raise SqlError(str(error)) from error
    return [partition.everything() for partition in partitions]
