"""Every config that Kafka 4.3 knows for a topic: its kind, its default, what it is for.

All are known, so that tools which set or show them work. Those that mean something to Dray take effect; the
others (about indexes, flushing, replicas) are kept and shown as they were set, because there is nothing here
for them to act on.
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

_KEPT = "Kept and shown; Dray has nothing for it to act on."
_EFFORT = "How much effort is made when a batch is stored in this codec and came in another."
_EVER = str(LONG_MAX)


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One config of a topic."""

    name: str
    kind: ValueKind
    default: str
    broker_synonym: str | None = None
    """What Kafka's brokers call the default of it."""
    documentation: str = _KEPT

    @property
    def type(self) -> ConfigType:
        return self.kind.type

    def parse(self, text: str) -> Value:
        """Read a value; raises `InvalidConfig`."""
        return self.kind.parse(self.name, text)

    def shown(self, text: str) -> str:
        """Return a valid value the way Kafka shows it."""
        return as_text(self.parse(text))


_KEYS = (
    ConfigKey(
        "cleanup.policy",
        list_of("compact", "delete"),
        "delete",
        "log.cleanup.policy",
        "Whether records go by age and size (delete), or all but the last of each key (compact); or both.",
    ),
    ConfigKey("compression.gzip.level", level(1, 9, -1), "-1", "compression.gzip.level", _EFFORT),
    ConfigKey("compression.lz4.level", int_from(1, 17), "9", "compression.lz4.level", _EFFORT),
    ConfigKey(
        "compression.type",
        one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        "producer",
        "compression.type",
        "How batches are stored; producer keeps them as they came.",
    ),
    ConfigKey("compression.zstd.level", int_from(-131072, 22), "3", "compression.zstd.level", _EFFORT),
    ConfigKey(
        "delete.retention.ms",
        long_from(0),
        "86400000",
        "log.cleaner.delete.retention.ms",
        "How long a record without a value stays after older ones of its key have gone.",
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
        "After this time records are cleaned by key, however few they are.",
    ),
    ConfigKey(
        "max.message.bytes",
        int_from(0),
        "1048588",
        "message.max.bytes",
        "The largest batch that is accepted.",
    ),
    ConfigKey(
        "message.timestamp.after.max.ms",
        long_from(0),
        "3600000",
        "log.message.timestamp.after.max.ms",
        "How far in the future a producer's timestamp may lie.",
    ),
    ConfigKey(
        "message.timestamp.before.max.ms",
        long_from(0),
        _EVER,
        "log.message.timestamp.before.max.ms",
        "How far in the past a producer's timestamp may lie.",
    ),
    ConfigKey(
        "message.timestamp.type",
        one_of("CreateTime", "LogAppendTime"),
        "CreateTime",
        "log.message.timestamp.type",
        "Whether the producer or the broker sets timestamps.",
    ),
    ConfigKey(
        "min.cleanable.dirty.ratio",
        fraction(),
        "0.5",
        "log.cleaner.min.cleanable.ratio",
        "How much of a partition must be new before it is cleaned by key.",
    ),
    ConfigKey(
        "min.compaction.lag.ms",
        long_from(0),
        "0",
        "log.cleaner.min.compaction.lag.ms",
        "How long records are safe from being cleaned by key.",
    ),
    ConfigKey("min.insync.replicas", int_from(1), "1", "min.insync.replicas"),
    ConfigKey("preallocate", boolean(), "false", "log.preallocate"),
    ConfigKey("remote.log.copy.disable", boolean(), "false"),
    ConfigKey("remote.log.delete.on.disable", boolean(), "false"),
    ConfigKey("remote.storage.enable", boolean(), "false"),
    ConfigKey(
        "retention.bytes",
        long_from(-1),  # Kafka takes any negative number for "everything"; here a slip must not delete
        "-1",
        "log.retention.bytes",
        "How much of each partition is kept; -1 means everything.",
    ),
    ConfigKey(
        "retention.ms",
        long_from(-1),
        "604800000",
        "log.retention.ms",
        "How long records are kept; -1 means for ever.",
    ),
    ConfigKey(
        "segment.bytes",
        int_from(1048576),
        "1073741824",
        "log.segment.bytes",
        "The largest batch. Where retention.bytes is set, files do not reach over steps of this size.",
    ),
    ConfigKey("segment.index.bytes", int_from(4), "10485760", "log.index.size.max.bytes"),
    ConfigKey("segment.jitter.ms", long_from(0), "0", "log.roll.jitter.ms"),
    ConfigKey(
        "segment.ms",
        long_from(1),
        "604800000",
        "log.roll.ms",
        "Where retention.ms is set, files do not reach over steps of this length, or of a minute.",
    ),
    ConfigKey("unclean.leader.election.enable", boolean(), "false", "unclean.leader.election.enable"),
)

TOPIC_CONFIGS: Final[Mapping[str, ConfigKey]] = MappingProxyType({key.name: key for key in _KEYS})
"""By name, in the order of the names."""
