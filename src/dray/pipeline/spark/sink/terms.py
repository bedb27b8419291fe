"""What a topic asks of those who write to it, found out once before a load begins."""

import re
from dataclasses import dataclass
from typing import Final

from dray.cluster.topics import Streams, Topic, TopicExists, TopicNamesCollide, Topics
from dray.ids import StreamId, TopicRef
from dray.log import Log, LogMetrics, LogParts, LogSettings
from dray.observe import Metrics
from dray.pipeline.spark.access import OpenCluster
from dray.pipeline.spark.sink.errors import CannotWrite
from dray.pipeline.spark.sink.options import CODECS, WriteOptions
from dray.records import BatchRules, Codec, Compression, TimestampType

_NAME: Final = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")
_INTERNAL: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")
_LEVELS: Final = {
    Codec.GZIP: "compression.gzip.level",
    Codec.LZ4: "compression.lz4.level",
    Codec.ZSTD: "compression.zstd.level",
}
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
    config = topic.config
    rules = BatchRules(
        max_message_bytes=config.whole("max.message.bytes"),
        timestamp_type=TimestampType.LOG_APPEND if config.stamps_append_time else TimestampType.CREATE,
        timestamp_before_max_ms=config.whole("message.timestamp.before.max.ms"),
        timestamp_after_max_ms=config.whole("message.timestamp.after.max.ms"),
        compacted=config.is_compacted,
    )
    return Terms(
        TopicRef(topic.name, topic.topic_id), topic.streams, rules, _compression(topic, options.codec)
    )


async def _find(cluster: OpenCluster, options: WriteOptions) -> Topic:
    name = options.topic
    if _NAME.fullmatch(name) is None or name in _INTERNAL:
        raise CannotWrite(f"{name!r} is not the name of a topic that can be written to")
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


def _compression(topic: Topic, wanted: Codec | None) -> Compression:
    """A topic that stores all batches in one codec gets them in that one, whatever the writer says."""
    named = topic.config.text("compression.type")
    codec = CODECS.get("none" if named == "uncompressed" else named)
    if codec is None:
        return _QUICK_ZSTD if wanted is None or wanted is Codec.ZSTD else Compression(wanted)
    level = _LEVELS.get(codec)
    return Compression(codec, None if level is None else topic.config.whole(level))
