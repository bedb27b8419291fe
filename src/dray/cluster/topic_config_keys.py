"""All topic configs of Kafka 4.3, with type, default and documentation.

All are accepted, so that tools that set or show them work. Those that apply to Dray take effect; the others,
about indexes, flushing and replicas, are stored and returned but have no effect.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from dray.cluster.config_values import (
    LONG_MAX,
    ConfigType,
    Value,
    ValueKind,
    as_text,
    boolean,
    fraction,
    int_from,
    level,
    list_of,
    long_from,
    one_of,
    replicas,
)

_NO_EFFECT = "Stored and returned, without effect in Dray."
_LEVEL = "Compression level when the broker recompresses a batch with this codec."
_EVER = str(LONG_MAX)


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One config of a topic."""

    name: str
    kind: ValueKind
    default: str
    broker_synonym: str | None = None
    """The broker config of Kafka that holds its default."""
    documentation: str = _NO_EFFECT

    @property
    def type(self) -> ConfigType:
        return self.kind.type

    def parse(self, text: str) -> Value:
        """Parse a value; raises `InvalidConfig`."""
        return self.kind.parse(self.name, text)

    def shown(self, text: str) -> str:
        """Return a valid value as Kafka formats it."""
        return as_text(self.parse(text))


_KEYS = (
    ConfigKey(
        "cleanup.policy",
        list_of("compact", "delete"),
        "delete",
        "log.cleanup.policy",
        "Delete records by age and size (delete), keep only the last record of each key (compact), or both.",
    ),
    ConfigKey("compression.gzip.level", level(1, 9, -1), "-1", "compression.gzip.level", _LEVEL),
    ConfigKey("compression.lz4.level", int_from(1, 17), "9", "compression.lz4.level", _LEVEL),
    ConfigKey(
        "compression.type",
        one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        "producer",
        "compression.type",
        "Codec of stored batches; producer keeps the producer's codec.",
    ),
    ConfigKey("compression.zstd.level", int_from(-131072, 22), "3", "compression.zstd.level", _LEVEL),
    ConfigKey(
        "delete.retention.ms",
        long_from(0),
        "86400000",
        "log.cleaner.delete.retention.ms",
        "How long tombstones are kept after key compaction removed the older records of their keys.",
    ),
    ConfigKey("file.delete.delay.ms", long_from(0), "60000", "log.segment.delete.delay.ms"),
    ConfigKey("flush.messages", long_from(1), _EVER, "log.flush.interval.messages"),
    ConfigKey("flush.ms", long_from(0), _EVER, "log.flush.interval.ms"),
    ConfigKey("follower.replication.throttled.replicas", replicas(), ""),
    ConfigKey("index.interval.bytes", int_from(0), "4096", "log.index.interval.bytes"),
    ConfigKey("leader.replication.throttled.replicas", replicas(), ""),
    ConfigKey("local.retention.bytes", long_from(-2), "-2", "log.local.retention.bytes"),
    ConfigKey("local.retention.ms", long_from(-2), "-2", "log.local.retention.ms"),
    ConfigKey(
        "max.compaction.lag.ms",
        long_from(1),
        _EVER,
        "log.cleaner.max.compaction.lag.ms",
        "Maximum time before a record becomes subject to key compaction, regardless of the dirty ratio.",
    ),
    ConfigKey(
        "max.message.bytes",
        int_from(0),
        "1048588",
        "message.max.bytes",
        "Maximum size of a batch.",
    ),
    ConfigKey(
        "message.timestamp.after.max.ms",
        long_from(0),
        "3600000",
        "log.message.timestamp.after.max.ms",
        "Maximum time by which a producer's timestamp may be in the future.",
    ),
    ConfigKey(
        "message.timestamp.before.max.ms",
        long_from(0),
        _EVER,
        "log.message.timestamp.before.max.ms",
        "Maximum time by which a producer's timestamp may be in the past.",
    ),
    ConfigKey(
        "message.timestamp.type",
        one_of("CreateTime", "LogAppendTime"),
        "CreateTime",
        "log.message.timestamp.type",
        "Whether the producer (CreateTime) or the broker (LogAppendTime) sets record timestamps.",
    ),
    ConfigKey(
        "min.cleanable.dirty.ratio",
        fraction(),
        "0.5",
        "log.cleaner.min.cleanable.ratio",
        "Minimum ratio of new records to all records of a partition for key compaction.",
    ),
    ConfigKey(
        "min.compaction.lag.ms",
        long_from(0),
        "0",
        "log.cleaner.min.compaction.lag.ms",
        "Minimum time before a record becomes subject to key compaction.",
    ),
    ConfigKey("min.insync.replicas", int_from(1), "1", "min.insync.replicas"),
    ConfigKey("preallocate", boolean(), "false", "log.preallocate"),
    ConfigKey("remote.log.copy.disable", boolean(), "false"),
    ConfigKey("remote.log.delete.on.disable", boolean(), "false"),
    ConfigKey("remote.storage.enable", boolean(), "false"),
    ConfigKey(
        "retention.bytes",
        long_from(-1),  # Kafka treats any negative number as unlimited; a typo must not delete data
        "-1",
        "log.retention.bytes",
        "Maximum size of a partition; -1 means unlimited.",
    ),
    ConfigKey(
        "retention.ms",
        long_from(-1),
        "604800000",
        "log.retention.ms",
        "How long records are kept; -1 means forever.",
    ),
    ConfigKey(
        "segment.bytes",
        int_from(1048576),
        "1073741824",
        "log.segment.bytes",
        "Maximum size of a batch. With retention.bytes, Parquet files do not cross multiples of this size. "
        "Key compaction spares the latest records up to this size, Kafka's active segment.",
    ),
    ConfigKey("segment.index.bytes", int_from(4), "10485760", "log.index.size.max.bytes"),
    ConfigKey("segment.jitter.ms", long_from(0), "0", "log.roll.jitter.ms"),
    ConfigKey(
        "segment.ms",
        long_from(1),
        "604800000",
        "log.roll.ms",
        "With retention.ms, Parquet files do not cross multiples of this time, or of a minute if shorter. "
        "Key compaction spares the latest records, until one comes this long after the first of them.",
    ),
    ConfigKey("unclean.leader.election.enable", boolean(), "false", "unclean.leader.election.enable"),
)

TOPIC_CONFIGS: Final[Mapping[str, ConfigKey]] = MappingProxyType({key.name: key for key in _KEYS})
"""All configs by name, sorted."""
