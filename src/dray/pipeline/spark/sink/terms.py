"""What a topic asks of those who write to it, found out once before a load begins."""

from dataclasses import dataclass
from typing import Final

from dray.cluster.topic_names import is_internal
from dray.cluster.topic_rules import compression_of, rules_of
from dray.cluster.topics import Streams, Topic, TopicExists, TopicNamesCollide, Topics
from dray.ids import StreamId, TopicRef
from dray.log import Log, LogMetrics, LogParts, LogSettings
from dray.observe import Metrics
from dray.pipeline.access import OpenCluster
from dray.pipeline.spark.sink.errors import CannotWrite
from dray.pipeline.spark.sink.options import WriteOptions
from dray.records import BatchRules, Codec, Compression

_QUICK_ZSTD: Final = Compression(Codec.ZSTD, 1)
"""Twice as fast as zstd's usual level and seldom larger, as for the tables; Kafka's clients take 3."""


@dataclass(frozen=True, slots=True)
class Terms:
    """A topic as a load sees it."""

    topic: TopicRef
    streams: tuple[StreamId, ...]
    rules: BatchRules
    compression: Compression


async def find_terms(cluster: OpenCluster, options: WriteOptions) -> Terms:
    """Find the topic, or make it if the options ask for that; raises `CannotWrite`."""
    topic = await _find(cluster, options)
    return Terms(
        topic.ref,
        topic.streams,
        rules_of(topic, zstd_allowed=True),
        compression_of(topic) or _chosen(options.codec),
    )


async def _find(cluster: OpenCluster, options: WriteOptions) -> Topic:
    name = options.topic
    if is_internal(name):
        raise CannotWrite(f"{name} is a topic of Kafka's own")
    streams = _log(cluster)
    topics = Topics(
        cluster.meta,
        Streams(streams.create_stream, streams.condemn_stream, streams.delete_stream),
        cluster.clock,
        cluster.entropy,
    )
    found = await topics.fresh(name)
    if found is None and options.new_partitions is not None:
        await topics.start(cluster.tasks)  # so that it knows of all the others
        try:
            return await topics.create(name, options.new_partitions, {})
        except TopicNamesCollide as error:
            raise CannotWrite(str(error)) from error
        except TopicExists:
            found = await topics.fresh(name)
    if found is None:
        raise CannotWrite(
            f"there is no topic {name}: create it, or let the write do so with "
            '.option("createTopic", "true").option("partitions", "12")'
        )
    return found


def _log(cluster: OpenCluster) -> Log:
    """Only makes streams: it is not started, and holds nothing."""
    metrics = LogMetrics.on(Metrics())
    parts = LogParts(
        cluster.meta,
        cluster.objects,
        cluster.clock,
        cluster.entropy,
        cluster.tasks,
        LogSettings(),
        metrics,
        domains=cluster.domains,
    )
    return Log(parts)


def _chosen(wanted: Codec | None) -> Compression:
    """What a topic that takes any codec is given."""
    return _QUICK_ZSTD if wanted is None or wanted is Codec.ZSTD else Compression(wanted)
