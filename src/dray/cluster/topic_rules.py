"""The rules for a topic's batches that follow from its configs, computed once per version of the topic."""

from functools import lru_cache
from typing import Final

from dray.cluster.configs import TopicConfig
from dray.cluster.topics import Topic
from dray.records import BatchRules, Codec, Compression, TimestampType, ValidBatch

_TOPICS_MAX = 10_000
SEGMENT_BYTES_MIN: Final = 1 << 20
"""The minimum of segment.bytes: a smaller batch need not be compared with it."""
_CODECS: Final = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}
_LEVELS: Final = {
    Codec.GZIP: "compression.gzip.level",
    Codec.LZ4: "compression.lz4.level",
    Codec.ZSTD: "compression.zstd.level",
}


def rules_of(topic: Topic, *, zstd_allowed: bool) -> tuple[BatchRules, Compression | None]:
    """Return the rules, and how the batches are compressed; None keeps the producer's codec."""
    return _rules(tuple(sorted(topic.configs.items())) if topic.configs else (), zstd_allowed)


@lru_cache(maxsize=_TOPICS_MAX)
def _rules(configs: tuple[tuple[str, str], ...], zstd_allowed: bool) -> tuple[BatchRules, Compression | None]:
    config = TopicConfig(dict(configs))
    rules = BatchRules(
        max_message_bytes=config.whole("max.message.bytes"),
        timestamp_type=TimestampType.LOG_APPEND if config.stamps_append_time else TimestampType.CREATE,
        timestamp_before_max_ms=config.whole("message.timestamp.before.max.ms"),
        timestamp_after_max_ms=config.whole("message.timestamp.after.max.ms"),
        compacted=config.is_compacted,
        zstd_allowed=zstd_allowed,
    )
    return rules, _compression(config)


def _compression(config: TopicConfig) -> Compression | None:
    codec = _CODECS.get(config.text("compression.type"))
    if codec is None:
        return None
    level = _LEVELS.get(codec)
    return Compression(codec, None if level is None else config.whole(level))


def fits_segment(batch: ValidBatch, topic: Topic) -> bool:
    """Return whether the batch fits into one segment in Kafka."""
    return batch.header.size_bytes <= topic.config.whole("segment.bytes")
