"""Topic configs: Kafka's names, types, defaults and limits.

Every config that Kafka 4.3 knows for a topic is known here, so that tools which set or show them work. Those
that mean something to Dray take effect; the others (about segments, flushing, replicas) are kept and shown
as they were set, because there is nothing here for them to act on.

A config is stored as the text the client sent, under its own name, and read through `TopicConfig`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Final

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1


class ConfigType(IntEnum):
    """Types as DescribeConfigs numbers them."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7


class InvalidConfig(Exception):
    """A config's name or value is not one that Kafka knows; the message says what is allowed."""


Check = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One config of a topic."""

    name: str
    type: ConfigType
    default: str
    check: Check
    documentation: str
    broker_synonym: str | None = None
    """What Kafka's brokers call the default of it."""

    def validate(self, text: str) -> None:
        try:
            self.check(text)
        except ValueError as error:
            raise InvalidConfig(f"Invalid value {text} for configuration {self.name}: {error}") from error


def _whole(low: int, high: int) -> Check:
    def check(text: str) -> None:
        try:
            value = int(text.strip())
        except ValueError:
            raise ValueError(f"expected a whole number from {low} to {high}") from None
        if not low <= value <= high:
            raise ValueError(f"expected a whole number from {low} to {high}")

    return check


def _fraction(text: str) -> None:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("expected a number from 0 to 1") from None
    if not 0 <= value <= 1:
        raise ValueError("expected a number from 0 to 1")


def _one_of(*allowed: str) -> Check:
    def check(text: str) -> None:
        if text not in allowed:
            raise ValueError(f"expected one of {', '.join(allowed)}")

    return check


def _boolean(text: str) -> None:
    if text.strip().lower() not in ("true", "false"):
        raise ValueError("expected true or false")


def _policies(text: str) -> None:
    for policy in split_list(text):
        _one_of("compact", "delete")(policy)


def _throttled(text: str) -> None:
    """Either everything, or a list of partition:broker pairs."""
    if text.strip() in ("", "*"):
        return
    for pair in split_list(text):
        partition, colon, broker = pair.partition(":")
        if not (colon and partition.isdigit() and broker.isdigit()):
            raise ValueError("expected *, or a list of partition:broker pairs")


def split_list(text: str) -> list[str]:
    """Split a list config the way Kafka does."""
    return [part.strip() for part in text.split(",") if part.strip()]


_BOOLEAN, _STRING, _INT, _LONG, _DOUBLE, _LIST = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.DOUBLE,
    ConfigType.LIST,
)
_COUNT, _LIMIT = _whole(0, LONG_MAX), _whole(-1, LONG_MAX)
_KEPT = "Kept and shown; Dray has nothing for it to act on."

TOPIC_CONFIGS: Final[Mapping[str, ConfigKey]] = MappingProxyType(
    {
        key.name: key
        for key in (
            ConfigKey(
                "cleanup.policy",
                _LIST,
                "delete",
                _policies,
                "Whether old records are deleted, or all but the last one of each key.",
                "log.cleanup.policy",
            ),
            ConfigKey(
                "compression.type",
                _STRING,
                "producer",
                _one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
                "How batches are stored; producer keeps them as they came.",
                "compression.type",
            ),
            ConfigKey("compression.gzip.level", _INT, "-1", _whole(-1, 9), _KEPT, "compression.gzip.level"),
            ConfigKey("compression.lz4.level", _INT, "9", _whole(1, 17), _KEPT, "compression.lz4.level"),
            ConfigKey(
                "compression.zstd.level", _INT, "3", _whole(-131072, 22), _KEPT, "compression.zstd.level"
            ),
            ConfigKey(
                "delete.retention.ms",
                _LONG,
                "86400000",
                _COUNT,
                "How long tombstones of compacted topics are kept.",
                "log.cleaner.delete.retention.ms",
            ),
            ConfigKey("file.delete.delay.ms", _LONG, "60000", _COUNT, _KEPT, "log.segment.delete.delay.ms"),
            ConfigKey(
                "flush.messages",
                _LONG,
                str(LONG_MAX),
                _whole(1, LONG_MAX),
                _KEPT,
                "log.flush.interval.messages",
            ),
            ConfigKey("flush.ms", _LONG, str(LONG_MAX), _COUNT, _KEPT, "log.flush.interval.ms"),
            ConfigKey("follower.replication.throttled.replicas", _LIST, "", _throttled, _KEPT),
            ConfigKey(
                "index.interval.bytes", _INT, "4096", _whole(0, INT_MAX), _KEPT, "log.index.interval.bytes"
            ),
            ConfigKey("leader.replication.throttled.replicas", _LIST, "", _throttled, _KEPT),
            ConfigKey(
                "local.retention.bytes", _LONG, "-2", _whole(-2, LONG_MAX), _KEPT, "log.local.retention.bytes"
            ),
            ConfigKey(
                "local.retention.ms", _LONG, "-2", _whole(-2, LONG_MAX), _KEPT, "log.local.retention.ms"
            ),
            ConfigKey(
                "max.compaction.lag.ms",
                _LONG,
                str(LONG_MAX),
                _whole(1, LONG_MAX),
                "The longest a record waits for compaction by key.",
                "log.cleaner.max.compaction.lag.ms",
            ),
            ConfigKey(
                "max.message.bytes",
                _INT,
                "1048588",
                _whole(0, INT_MAX),
                "The largest batch that is accepted.",
                "message.max.bytes",
            ),
            ConfigKey(
                "message.timestamp.after.max.ms",
                _LONG,
                "3600000",
                _COUNT,
                "How far in the future a producer's timestamp may lie.",
                "log.message.timestamp.after.max.ms",
            ),
            ConfigKey(
                "message.timestamp.before.max.ms",
                _LONG,
                str(LONG_MAX),
                _COUNT,
                "How far in the past a producer's timestamp may lie.",
                "log.message.timestamp.before.max.ms",
            ),
            ConfigKey(
                "message.timestamp.type",
                _STRING,
                "CreateTime",
                _one_of("CreateTime", "LogAppendTime"),
                "Whether the producer or the broker sets timestamps.",
                "log.message.timestamp.type",
            ),
            ConfigKey(
                "min.cleanable.dirty.ratio",
                _DOUBLE,
                "0.5",
                _fraction,
                _KEPT,
                "log.cleaner.min.cleanable.ratio",
            ),
            ConfigKey(
                "min.compaction.lag.ms",
                _LONG,
                "0",
                _COUNT,
                "The shortest a record waits for compaction by key.",
                "log.cleaner.min.compaction.lag.ms",
            ),
            ConfigKey("min.insync.replicas", _INT, "1", _whole(1, INT_MAX), _KEPT, "min.insync.replicas"),
            ConfigKey("preallocate", _BOOLEAN, "false", _boolean, _KEPT, "log.preallocate"),
            ConfigKey("remote.copy.disable", _BOOLEAN, "false", _boolean, _KEPT),
            ConfigKey("remote.log.delete.on.disable", _BOOLEAN, "false", _boolean, _KEPT),
            ConfigKey("remote.storage.enable", _BOOLEAN, "false", _boolean, _KEPT),
            ConfigKey(
                "retention.bytes",
                _LONG,
                "-1",
                _LIMIT,
                "How much of each partition is kept; -1 means everything.",
                "log.retention.bytes",
            ),
            ConfigKey(
                "retention.ms",
                _LONG,
                "604800000",
                _LIMIT,
                "How long records are kept; -1 means for ever.",
                "log.retention.ms",
            ),
            ConfigKey(
                "segment.bytes", _INT, "1073741824", _whole(1048576, INT_MAX), _KEPT, "log.segment.bytes"
            ),
            ConfigKey(
                "segment.index.bytes", _INT, "10485760", _whole(4, INT_MAX), _KEPT, "log.index.size.max.bytes"
            ),
            ConfigKey("segment.jitter.ms", _LONG, "0", _COUNT, _KEPT, "log.roll.jitter.ms"),
            ConfigKey("segment.ms", _LONG, "604800000", _whole(1, LONG_MAX), _KEPT, "log.roll.ms"),
            ConfigKey(
                "unclean.leader.election.enable",
                _BOOLEAN,
                "false",
                _boolean,
                _KEPT,
                "unclean.leader.election.enable",
            ),
        )
    }
)


def validate_configs(configs: Mapping[str, str | None]) -> dict[str, str]:
    """Check configs as a client sent them; a null value is not one."""
    checked: dict[str, str] = {}
    for name, text in configs.items():
        key = TOPIC_CONFIGS.get(name)
        if key is None:
            raise InvalidConfig(f"Unknown topic config name: {name}")
        if text is None:
            raise InvalidConfig(f"Null value not supported for topic configs: {name}")
        key.validate(text)
        checked[name] = text
    return checked


class TopicConfig:
    """The configs of one topic, with defaults for those that were not set."""

    __slots__ = ("_set",)

    def __init__(self, configs: Mapping[str, str]) -> None:
        self._set = configs

    def text(self, name: str) -> str:
        return self._set.get(name, TOPIC_CONFIGS[name].default)

    def whole(self, name: str) -> int:
        return int(self.text(name).strip())

    @property
    def is_compacted(self) -> bool:
        return "compact" in split_list(self.text("cleanup.policy"))

    @property
    def is_deleted(self) -> bool:
        """Whether old records go by age and size."""
        return "delete" in split_list(self.text("cleanup.policy"))

    @property
    def stamps_append_time(self) -> bool:
        return self.text("message.timestamp.type") == "LogAppendTime"
