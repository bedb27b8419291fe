"""Write target: the partitions, limits and codec of a topic, read once before a load begins."""

from dataclasses import dataclass
from typing import Final

from dray.cluster.topic_admin import TopicAdmin, TopicExists, TopicNamesCollide
from dray.cluster.topic_names import is_internal
from dray.cluster.topic_rules import rules_of
from dray.cluster.topics import Topic, TopicCatalog
from dray.ids import StreamId, TopicRef
from dray.log import LogSettings, StreamWriter
from dray.records import BatchRules, Codec, Compression
from dray.scan.access import OpenCluster
from dray.spark.errors import CannotWrite
from dray.spark.sink.options import WriteOptions

_QUICK_ZSTD: Final = Compression(Codec.ZSTD, 1)
"""Twice as fast as the default level 3 of Kafka's clients and rarely larger; tables use it too."""


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """A topic as a load sees it."""

    topic: TopicRef
    streams: tuple[StreamId, ...]
    rules: BatchRules
    compression: Compression


async def resolve_target(cluster: OpenCluster, options: WriteOptions) -> WriteTarget:
    """Look the topic up, or create it if the options say so; raises `CannotWrite`."""
    topic = await _find(cluster, options)
    rules, compression = rules_of(topic, zstd_allowed=True)
    return WriteTarget(topic.ref, topic.streams, rules, compression or _default_compression(options.codec))


async def _find(cluster: OpenCluster, options: WriteOptions) -> Topic:
    name = options.topic
    if is_internal(name):
        raise CannotWrite(f"{name} is an internal topic")
    topics = TopicCatalog(cluster.meta, cluster.clock)
    found = await topics.fresh(name)
    if found is None and options.new_partitions is not None:
        await topics.start(cluster.tasks)  # so that it knows of all the others
        try:
            streams = StreamWriter(cluster.meta, cluster.domains, cluster.clock, LogSettings())
            admin = TopicAdmin(topics, cluster.meta, streams, cluster.clock, cluster.entropy)
            return await admin.create(name, options.new_partitions, {})
        except TopicNamesCollide as error:
            raise CannotWrite(str(error)) from error
        except TopicExists:
            found = await topics.fresh(name)
    if found is None:
        raise CannotWrite(
            f"there is no topic {name}: create it, or let the write create it with "
            '.option("createTopic", "true").option("partitions", "12")'
        )
    return found


def _default_compression(wanted: Codec | None) -> Compression:
    """Return the codec for a topic that accepts any."""
    return _QUICK_ZSTD if wanted is None or wanted is Codec.ZSTD else Compression(wanted)
